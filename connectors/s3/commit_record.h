// SPDX-License-Identifier: Apache-2.0
// CommitRecord: what a sink that writes exactly once keeps of one partition in the store, as docs/formats/commits.md
// describes it (schema 1). A value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/ids.h"
#include "millrace/base/result.h"
#include "millrace/base/time.h"
#include "millrace/encode/encoded_chunk.h"

namespace millrace::s3_sink {

/// No commit object is longer.
inline constexpr std::size_t kCommitRecordLimit = std::size_t{8} << 20U;

/// A file by its place: every record of its series between the two offsets.
struct CommittedFile {
  FileSeries series;
  Offset first;
  Offset last;
  std::string key;
  std::uint64_t bytes = 0;  ///< as stored
  std::string checksum;     ///< XXH3 (64 bits) of them, 16 hex digits
  friend bool operator==(const CommittedFile&, const CommittedFile&) = default;
};

struct CommitRecord {
  std::string stream;
  std::string topic;
  PartitionId partition;
  std::string lineage;                 ///< Origin::lineage of the offsets
  std::string files_by;                ///< how series are told apart: other settings make other series
  std::string writer;                  ///< who saved it last; random, new for each run
  std::uint64_t saves = 0;             ///< grows, so that no two saves have the same bytes, and with them the same ETag
  Offset floor{0};                     ///< every record before it is durable, or was dropped on purpose
  UnixMicros latest = kNoTimestamp;    ///< no record up to the last that this speaks of has a later time
  std::vector<CommittedFile> durable;  ///< the last file of each series, where it reaches the floor
  std::vector<CommittedFile> unsettled;  ///< about to be written, one of a series at most

  /// The last record that it speaks of.
  [[nodiscard]] Offset reaches() const noexcept;
  friend bool operator==(const CommitRecord&, const CommitRecord&) = default;
};

/// Reads what is written there, or fails (manifest) with the field and what is wrong with it. Never crashes on any
/// bytes.
[[nodiscard]] Result<CommitRecord> parse_commit_record(std::string_view json);
/// The inverse, for every record that is accepted.
[[nodiscard]] std::string to_json(const CommitRecord& record);

}  // namespace millrace::s3_sink
