// SPDX-License-Identifier: Apache-2.0
// Framed records: for sinks that send records one by one. A chunk of them holds, for each record, what its destination
// needs beside the value: key, headers, time, and the offset for messages. Made on lanes, read by writers, never
// stored: the layout is this process's own.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "millrace/base/bytes.h"
#include "millrace/base/ids.h"
#include "millrace/base/result.h"
#include "millrace/encode/encode_spec.h"
#include "millrace/record/record_meta.h"

namespace millrace::encode {

/// One record of a chunk. Views of it.
struct FramedRecord {
  std::string_view value;
  std::string_view key;
  bool has_key = false;
  Offset offset;
  UnixMicros timestamp = kNoTimestamp;
  std::size_t header_count = 0;
  std::string_view headers;  ///< as they lie there; FramedHeaders reads them

  /// Bytes that a destination has to take: key, value, headers.
  std::size_t size = 0;
};

/// Appends `meta` and `value`; a record larger than `limit` (0: none) is a record error and appends nothing.
[[nodiscard]] Result<void> append_framed(ByteBuffer& out, std::string_view value, const RecordMeta& meta,
                                         std::size_t limit);

/// The records of a chunk, in their order. The chunk is one that append_framed made.
class FramedReader {
 public:
  explicit FramedReader(std::string_view chunk) noexcept : left_(chunk) {}
  /// False at the end.
  [[nodiscard]] bool next(FramedRecord& record) noexcept;

 private:
  std::string_view left_;
};

class FramedHeaders {
 public:
  explicit FramedHeaders(const FramedRecord& record) noexcept : left_(record.headers) {}
  [[nodiscard]] bool next(Header& header) noexcept;

 private:
  std::string_view left_;
};

/// The encoder of EncodeFormat::framed: the record's bytes as the value.
class FramedFormat {
 public:
  static constexpr std::string_view kName = "framed";
  explicit FramedFormat(const EncodeSpec& spec) : limit_(spec.max_record_bytes) {}
  void begin_batch(const Origin* /*origin*/) {}
  template <class T>
  [[nodiscard]] Result<void> encode(const T& record, const RecordMeta& meta, ByteBuffer& out) {
    static_assert(
        std::convertible_to<const T&, std::string_view>,
        "encode::framed: the record must be bytes (decode::Bytes, Text, Json, std::string, std::string_view)");
    return append_framed(out, record, meta, limit_);
  }

 private:
  std::size_t limit_;
};

}  // namespace millrace::encode
