// SPDX-License-Identifier: Apache-2.0
#include "millrace/encode/json_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

#include "millrace/decode/json_checker.h"

namespace millrace {
namespace {

template <class Number>
void append_number(ByteBuffer& out, Number number) {
  constexpr std::size_t kMost = 32;
  const std::size_t start = out.size();
  char* at = out.grow(kMost);
  const auto result = std::to_chars(at, at + kMost, number);
  out.truncate(start + static_cast<std::size_t>(result.ptr - at));
}

constexpr std::string_view kBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// Two characters for each twelve bits.
constexpr std::array<std::array<char, 2>, 4096> kBase64Pairs = [] {
  std::array<std::array<char, 2>, 4096> pairs{};
  for (std::size_t i = 0; i < pairs.size(); ++i) pairs[i] = {kBase64[i >> 6U], kBase64[i & 63U]};
  return pairs;
}();

}  // namespace

void append_base64(ByteBuffer& out, std::string_view bytes) {
  char* to = out.grow((bytes.size() + 2) / 3 * 4);
  const auto* from = reinterpret_cast<const unsigned char*>(bytes.data());
  std::size_t left = bytes.size();
  for (; left >= 3; left -= 3, from += 3, to += 4) {
    const unsigned bits = static_cast<unsigned>(from[0]) << 16U | static_cast<unsigned>(from[1]) << 8U | from[2];
    std::memcpy(to, kBase64Pairs[bits >> 12U].data(), 2);
    std::memcpy(to + 2, kBase64Pairs[bits & 0xFFFU].data(), 2);
  }
  if (left == 0) return;
  const unsigned bits = static_cast<unsigned>(from[0]) << 16U | (left == 2 ? static_cast<unsigned>(from[1]) << 8U : 0U);
  to[0] = kBase64[bits >> 18U];
  to[1] = kBase64[bits >> 12U & 63U];
  to[2] = left == 2 ? kBase64[bits >> 6U & 63U] : '=';
  to[3] = '=';
}

void append_decimal(ByteBuffer& out, std::int64_t number) { append_number(out, number); }
void append_decimal(ByteBuffer& out, std::uint64_t number) { append_number(out, number); }

void append_as_one_line(ByteBuffer& out, decode::Json document) {
  char* to = out.grow(document.view.size());
  std::transform(document.view.begin(), document.view.end(), to,
                 [](char c) { return c == '\n' || c == '\r' ? ' ' : c; });
}

bool JsonWriter::write(bool value) {
  out_->append(value ? "true" : "false");
  return true;
}

bool JsonWriter::write(std::int64_t value) {
  append_number(*out_, value);
  return true;
}

bool JsonWriter::write(std::uint64_t value) {
  append_number(*out_, value);
  return true;
}

bool JsonWriter::write(double value) {
  if (!std::isfinite(value)) [[unlikely]]
    return refuse(ErrorCode::wrong_type, "JSON has no NaN and no Infinity");
  append_number(*out_, value);
  return true;
}

bool JsonWriter::write(float value) {
  if (!std::isfinite(value)) [[unlikely]]
    return refuse(ErrorCode::wrong_type, "JSON has no NaN and no Infinity");
  append_number(*out_, value);
  return true;
}

bool JsonWriter::write(std::string_view text) {
  if (!is_utf8_text(text)) [[unlikely]]
    return refuse(ErrorCode::invalid_utf8, "the text is not UTF-8");
  append_json_string(*out_, text);
  return true;
}

bool JsonWriter::write(decode::Json value) {
  if (value.may_break_lines) {
    append_as_one_line(*out_, value);
  } else {
    out_->append(value.view);
  }
  return true;
}

bool JsonWriter::refuse(ErrorCode code, std::string_view what) {
  code_ = code;
  what_ = what;
  path_.clear();
  return false;
}

void JsonWriter::inside_field(std::string_view name) {
  path_ = std::string(name) + (path_.empty() || path_.front() == '[' ? "" : ".") + path_;
}

void JsonWriter::inside_element(std::size_t index) {
  path_ = fmt::format("[{}]{}{}", index, path_.empty() || path_.front() == '[' ? "" : ".", path_);
}

Error JsonWriter::error() const {
  return Error::record(code_, path_.empty() ? std::string(what_) : fmt::format("field '{}': {}", path_, what_));
}

}  // namespace millrace
