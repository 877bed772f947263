// SPDX-License-Identifier: Apache-2.0
// JsonWriter: writes values as JSON into a buffer. Compact, fields in the order they are listed, text escaped as little
// as JSON allows. One per lane, on its thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "millrace/base/bytes.h"
#include "millrace/base/error.h"
#include "millrace/base/json_string.h"
#include "millrace/decode/payload.h"

#pragma GCC visibility push(default)
namespace millrace {

/// Appends the standard alphabet, padded, without quotes.
void append_base64(ByteBuffer& out, std::string_view bytes);
/// Appends decimal digits.
void append_decimal(ByteBuffer& out, std::int64_t number);
void append_decimal(ByteBuffer& out, std::uint64_t number);
/// Appends a document with each CR and LF (which stand between its tokens only) as a space, so that it is one line.
void append_as_one_line(ByteBuffer& out, decode::Json document);

/// A call that says false has met a value that JSON cannot say; nothing is written after that, and error() says which.
class JsonWriter {
 public:
  explicit JsonWriter(ByteBuffer& out) : out_(&out) {}

  [[nodiscard]] bool write(bool value);
  [[nodiscard]] bool write(std::int64_t value);
  [[nodiscard]] bool write(std::uint64_t value);
  /// Shortest digits that read back as the same number. Not finite: false.
  [[nodiscard]] bool write(double value);
  [[nodiscard]] bool write(float value);
  /// Not UTF-8: false.
  [[nodiscard]] bool write(std::string_view text);
  [[nodiscard]] bool write(decode::Json value);
  void write_null() { out_->append("null"); }
  /// Punctuation and keys that are known to be right.
  void write_verbatim(std::string_view json) { out_->append(json); }

  /// Where the fault was met, said from the inside out.
  [[gnu::cold]] void inside_field(std::string_view name);
  [[gnu::cold]] void inside_element(std::size_t index);
  /// Class record.
  [[nodiscard, gnu::cold]] Error error() const;

 private:
  [[gnu::cold]] bool refuse(ErrorCode code, std::string_view what);

  ByteBuffer* out_;
  ErrorCode code_ = ErrorCode::internal;
  std::string_view what_;
  std::string path_;
};

}  // namespace millrace
#pragma GCC visibility pop
