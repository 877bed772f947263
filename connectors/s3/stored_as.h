// SPDX-License-Identifier: Apache-2.0
// StoredAs: what an object of the sink is said to be, how the store keeps it, and in how many requests it is sent.
// Plain values, checked once.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "connectors/s3/complaints.h"
#include "millrace/codec/decompressor.h"
#include "millrace/connectors/s3.h"
#include "millrace/store/store_url.h"
#include "millrace/store/write_options.h"

namespace millrace::s3_sink {

struct StoredAs {
  std::string content_type;
  std::string content_encoding;                               ///< empty: none is told
  std::vector<std::pair<std::string, std::string>> metadata;  ///< the user's own
  ObjectSettings settings;
  ChecksumKind checksum = ChecksumKind::none;
  std::uint64_t multipart_threshold = UINT64_MAX;  ///< larger objects are sent in parts
  std::uint64_t part_bytes = 0;

  /// Of the small objects beside them (notes, markers), which are read again or soon replaced: encrypted and owned
  /// alike, and no more.
  [[nodiscard]] ObjectSettings of_notes() const {
    ObjectSettings notes = settings;
    notes.storage_class.clear();
    notes.tags.clear();
    return notes;
  }
};

[[nodiscard]] Codec codec_of(FileCompression compression);

/// The options that belong together here; what is wrong goes to `complaints`. `base`: where the objects go.
[[nodiscard]] StoredAs check_stored_as(const S3SinkOptions& options, const StoreUrl& base, Complaints& complaints);

}  // namespace millrace::s3_sink
