// SPDX-License-Identifier: Apache-2.0
// Framed records: for sinks that send records one by one. A chunk of them holds, for each record, what its destination
// needs beside the value: key, headers, time, and the offset for messages. Made on lanes, read by writers and by what
// makes dead letters of them, never stored: the layout is this process's own.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "millrace/base/bytes.h"
#include "millrace/base/ids.h"
#include "millrace/base/result.h"
#include "millrace/encode/encode.h"
#include "millrace/encode/encode_spec.h"
#include "millrace/record/record_meta.h"

#pragma GCC visibility push(default)
namespace millrace::encode {

/// Bytes that a chunk holds for each record beside key, value and headers; each header adds kHeaderFrameBytes.
inline constexpr std::size_t kFrameBytes = 48;
inline constexpr std::size_t kHeaderFrameBytes = 16;

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

/// The records of a chunk, in their order.
class FramedReader {
 public:
  explicit FramedReader(std::string_view chunk) noexcept : left_(chunk) {}
  /// False at the end, and where what comes is none that append_framed wrote.
  [[nodiscard]] bool next(FramedRecord& record) noexcept;
  /// Everything was read.
  [[nodiscard]] bool at_end() const noexcept { return left_.empty(); }

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
  static constexpr bool kFramed = true;  ///< for sinks that take such records, and for no others
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

struct FramedOptions {
  OnError on_error = OnError::fail;  ///< of a record that is larger than the sink takes
};
/// The record's bytes as the value, beside key, headers and time: `of_sink` is the Sink::encode_spec() of a sink whose
/// writers send records one by one.
[[nodiscard]] inline Encoder<FramedFormat> framed(const EncodeSpec& of_sink, const FramedOptions& options = {}) {
  return {{}, FramedFormat(of_sink), options.on_error, {}};
}

}  // namespace millrace::encode
#pragma GCC visibility pop
