// SPDX-License-Identifier: Apache-2.0
// What encoders write for one record. A format has `begin_batch(origin)`, once per run of the chain before its first
// record there, and `encode(record, meta, out)`, which appends; what was appended before an error is taken back by the
// caller. Separators between records and what stands around them are the sink's (Envelope), the newline that ends a
// line of json_lines or raw's delimiter is the record's. One per lane, on its thread.
#pragma once

#include <concepts>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "millrace/base/bytes.h"
#include "millrace/base/result.h"
#include "millrace/decode/json_checker.h"
#include "millrace/decode/payload.h"
#include "millrace/encode/encode_spec.h"
#include "millrace/encode/json_wrapper.h"
#include "millrace/encode/json_write.h"
#include "millrace/record/record_meta.h"

#pragma GCC visibility push(default)
namespace millrace::encode {

/// Counted, not written.
class DiscardFormat {
 public:
  static constexpr std::string_view kName = "discard";
  void begin_batch(const Origin* /*origin*/) {}
  template <class T>
  [[nodiscard]] Result<void> encode(const T& /*record*/, const RecordMeta& /*meta*/, ByteBuffer& /*out*/) {
    return {};
  }
};

/// The record's bytes, then a delimiter.
class RawFormat {
 public:
  static constexpr std::string_view kName = "raw";
  explicit RawFormat(std::string delimiter) : delimiter_(std::move(delimiter)) {}
  void begin_batch(const Origin* /*origin*/) {}
  template <class T>
  [[nodiscard]] Result<void> encode(const T& record, const RecordMeta& /*meta*/, ByteBuffer& out) {
    static_assert(std::convertible_to<const T&, std::string_view>,
                  "encode::raw: the record must be bytes (decode::Bytes, Text, Json, std::string, std::string_view)");
    const std::string_view bytes = record;
    out.append(bytes);
    out.append(delimiter_);
    return {};
  }

 private:
  std::string delimiter_;
};

/// One JSON value: the record itself, or a wrapper object that has it as `payload`. decode::Json is spliced as it came;
/// decode::Bytes are spliced when they are JSON and otherwise become base64 in a wrapper, a record error without one;
/// text becomes a string; anything else goes through write_json.
class JsonFormat {
 public:
  JsonFormat(const EncodeSpec& spec, bool lines) : wrap_(spec.wrap), lines_(lines), wrapper_(spec) {}

  void begin_batch(const Origin* origin) {
    if (wrap_) wrapper_.begin_batch(origin);
  }
  template <class T>
  [[nodiscard]] Result<void> encode(const T& record, const RecordMeta& meta, ByteBuffer& out) {
    if (wrap_) wrapper_.open(meta, out);
    bool base64 = false;
    if constexpr (std::same_as<T, decode::Json>) {
      splice(record, out);
    } else if constexpr (std::same_as<T, decode::Bytes>) {
      MILLRACE_TRY(write_bytes(record, out, base64));
    } else if constexpr (std::same_as<T, decode::Text>) {
      append_json_string(out, record.view);
    } else {
      static_assert(
          IsJsonWritable<T>,
          "encode::json_lines and json_array: list the fields of this type with MILLRACE_JSON_FIELDS, or give "
          "it a write_json");
      JsonWriter writer(out);
      if (!write_json(writer, record)) [[unlikely]]
        return fail(writer.error());
    }
    if (wrap_) wrapper_.close(base64, out);
    if (lines_) out.push_back('\n');
    return {};
  }

 private:
  void splice(const decode::Json& document, ByteBuffer& out) const {
    if (lines_ && document.may_break_lines) return append_as_one_line(out, document);
    out.append(document.view);
  }
  [[nodiscard]] Result<void> write_bytes(const decode::Bytes& bytes, ByteBuffer& out, bool& base64);

  bool wrap_;
  bool lines_;
  JsonWrapper wrapper_;
  JsonChecker checker_;
};

/// One JSON value a line.
class JsonLinesFormat : public JsonFormat {
 public:
  static constexpr std::string_view kName = "json_lines";
  explicit JsonLinesFormat(const EncodeSpec& spec) : JsonFormat(spec, true) {}
};
/// One element of the array that the sink's envelope makes of a file.
class JsonArrayFormat : public JsonFormat {
 public:
  static constexpr std::string_view kName = "json_array";
  explicit JsonArrayFormat(const EncodeSpec& spec) : JsonFormat(spec, false) {}
};

/// What a callable of the user writes: `Result<void>(const T&, const RecordMeta&, ByteBuffer&)`.
template <class Callable>
class CustomFormat {
 public:
  static constexpr std::string_view kName = "encode";
  explicit CustomFormat(Callable callable) : callable_(std::move(callable)) {}
  void begin_batch(const Origin* /*origin*/) {}
  template <class T>
  [[nodiscard]] Result<void> encode(const T& record, const RecordMeta& meta, ByteBuffer& out) {
    static_assert(
        std::is_invocable_r_v<Result<void>, Callable&, const T&, const RecordMeta&, ByteBuffer&>,
        "encode::with: the callable is Result<void>(const T&, const RecordMeta&, ByteBuffer&), where T is the "
        "type of record that the stage before it gives on");
    return std::invoke(callable_, record, meta, out);
  }

 private:
  Callable callable_;
};

}  // namespace millrace::encode
#pragma GCC visibility pop
