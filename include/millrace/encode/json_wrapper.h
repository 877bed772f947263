// SPDX-License-Identifier: Apache-2.0
// JsonWrapper: the object around a payload: offset, timestamp, stream, topic, partition_id, headers, payload, in this
// order; what a record lacks is left out, never null. What is the same for every record of a batch is put together
// once per batch. One per lane, on its thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "millrace/base/bytes.h"
#include "millrace/encode/encode_spec.h"
#include "millrace/record/record_meta.h"

#pragma GCC visibility push(default)
namespace millrace {

class JsonWrapper {
 public:
  explicit JsonWrapper(const EncodeSpec& spec);

  /// A batch begins: its records come from `origin`, which holds until the next call; null when there is none.
  void begin_batch(const Origin* origin);
  /// Everything before the payload's value.
  void open(const RecordMeta& meta, ByteBuffer& out) {
    open_coordinates(meta, out);
    open_payload(meta, out);
  }
  /// The first half of it, up to partition_id, and the second, with the headers; other fields may stand between.
  void open_coordinates(const RecordMeta& meta, ByteBuffer& out);
  void open_payload(const RecordMeta& meta, ByteBuffer& out) const;
  /// Everything behind it. `base64`: the payload was not JSON and stands as base64.
  void close(bool base64, ByteBuffer& out) const;

 private:
  void write_headers(const RecordMeta& meta, ByteBuffer& out) const;
  void write_timestamp(UnixMicros timestamp, ByteBuffer& out);
  void put_tail_together(PartitionId shown);

  const bool include_metadata_;
  const bool include_headers_;
  const bool mark_encoding_;
  const int timestamp_digits_;
  std::string stream_;  ///< of the present tail
  std::string topic_;
  bool has_origin_ = false;
  PartitionId partition_;
  std::string tail_;  ///< `,"stream":...,"topic":...,"partition_id":N`
  bool tail_is_made_ = false;
  std::int64_t second_ = INT64_MIN;  ///< since the epoch, of `second_text_`
  bool second_has_text_ = false;     ///< a year of four digits
  char second_text_[19] = {};        ///< 2026-07-01T12:00:00
};

}  // namespace millrace
#pragma GCC visibility pop
