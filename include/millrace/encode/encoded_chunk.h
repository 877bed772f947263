// SPDX-License-Identifier: Apache-2.0
// EncodedChunk: the bytes of the records that go to one place together, and the batches they answer for. Here borrowing
// ends: the chunk owns its bytes. Open it belongs to a lane; sealed it moves to the I/O threads.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

#include "millrace/ack/ack_ref.h"
#include "millrace/base/bytes.h"
#include "millrace/base/ids.h"
#include "millrace/record/record_meta.h"

#pragma GCC visibility push(default)
namespace millrace {

/// Which files of a partition follow one another: those of one hour or day, and of one route. Records of a series are
/// in its files by rising offset, each source record wholly in one.
struct FileSeries {
  static constexpr std::int64_t kNoTime = std::numeric_limits<std::int64_t>::min();

  std::int64_t bucket =
      kNoTime;        ///< hours or days since the epoch, where files are kept apart by time and records have one
  std::string route;  ///< made of the records' own values, by who names the files; empty where by none

  [[nodiscard]] bool is(std::int64_t other_bucket, std::string_view other_route) const noexcept {
    return bucket == other_bucket && route == other_route;
  }
  friend bool operator==(const FileSeries&, const FileSeries&) = default;
};

struct EncodedChunk {
  ByteBuffer bytes;
  std::uint64_t records = 0;  ///< encoded records, which may be more or fewer than source records
  PartitionId partition;
  Offset first_offset;  ///< of the source records in here; meaningless while records == 0
  Offset last_offset;
  UnixMicros first_timestamp = kNoTimestamp;  ///< of the first record
  UnixMicros read_until = kNoTimestamp;       ///< no record that its lane has read, up to here, has a later time
  UnixMicros opened_unix = kNoTimestamp;      ///< wall time of the first append
  SteadyTime opened;                          ///< when the first record was appended
  SteadyTime appended;                        ///< when the last one was
  std::shared_ptr<const Origin> origin;       ///< of the first record; null when it had none
  FileSeries series;
  AckSet acks;
};

}  // namespace millrace
#pragma GCC visibility pop
