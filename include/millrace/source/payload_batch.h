// SPDX-License-Identifier: Apache-2.0
// PayloadBatch: what one poll yields, as columns that borrow the lane until its next poll. Absent columns cost nothing.
// One AckRef per batch; a batch without records still moves the watermark. Belongs to the lane's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "millrace/ack/ack_ref.h"
#include "millrace/base/ids.h"
#include "millrace/record/record_meta.h"

#pragma GCC visibility push(default)
namespace millrace {

struct PayloadBatch {
  std::span<const std::string_view> payloads;
  PartitionId partition;
  /// Offset of payloads[0]; the others follow by one unless `offsets` says otherwise. Ignored when there are no
  /// payloads.
  Offset base_offset;
  std::span<const Offset> offsets;                   ///< empty, or one per payload, rising strictly
  UnixMicros timestamp = kNoTimestamp;               ///< of every record, unless `timestamps` says otherwise
  std::span<const UnixMicros> timestamps;            ///< empty, or one per payload
  std::span<const std::string_view> keys;            ///< empty, or one per payload; data() == nullptr means no key
  std::span<const std::span<const Header>> headers;  ///< empty, or one per payload
  std::shared_ptr<const Origin> origin;              ///< of every record; null when there is none
  /// Bytes that may be read past the end of every payload (kBytePadding lets a decoder parse in place); 0 when nothing
  /// is promised.
  std::size_t readable_padding = 0;
  /// Answers for every record of the batch; its last offset is at least that of the last record.
  AckRef ack;

  [[nodiscard]] Offset offset(std::size_t index) const noexcept {
    return offsets.empty() ? Offset(base_offset.value() + static_cast<std::int64_t>(index)) : offsets[index];
  }
  [[nodiscard]] RecordMeta meta(std::size_t index) const noexcept {
    RecordMeta meta;
    meta.partition = partition;
    meta.offset = offset(index);
    meta.timestamp = timestamps.empty() ? timestamp : timestamps[index];
    if (!keys.empty()) {
      meta.key = keys[index];
      meta.has_key = keys[index].data() != nullptr;
    }
    if (!headers.empty()) {
      meta.headers = headers[index].data();
      meta.header_count = headers[index].size();
    }
    meta.origin = origin.get();
    return meta;
  }
};

}  // namespace millrace
#pragma GCC visibility pop
