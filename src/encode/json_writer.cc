// SPDX-License-Identifier: Apache-2.0
#include "millrace/encode/json_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include "millrace/decode/json_checker.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace millrace {
namespace {

bool needs_escape(char c) noexcept { return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\'; }

// Bytes at the front of `text` that stand for themselves in a JSON string.
std::size_t plain_prefix(std::string_view text) noexcept {
  std::size_t at = 0;
#if defined(__SSE2__)
  const __m128i quote = _mm_set1_epi8('"');
  const __m128i backslash = _mm_set1_epi8('\\');
  const __m128i last_control = _mm_set1_epi8(0x1F);
  for (; at + 16 <= text.size(); at += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text.data() + at));
    const __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(bytes, last_control), bytes);
    const __m128i special =
        _mm_or_si128(control, _mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash)));
    if (const int found = _mm_movemask_epi8(special); found != 0) {
      return at + static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(found)));
    }
  }
#endif
  while (at < text.size() && !needs_escape(text[at])) ++at;
  return at;
}

void append_escape(ByteBuffer& out, char c) {
  switch (c) {
    case '"':
      return out.append("\\\"");
    case '\\':
      return out.append("\\\\");
    case '\b':
      return out.append("\\b");
    case '\f':
      return out.append("\\f");
    case '\n':
      return out.append("\\n");
    case '\r':
      return out.append("\\r");
    case '\t':
      return out.append("\\t");
    default: {
      constexpr std::string_view kHex = "0123456789abcdef";
      const auto byte = static_cast<unsigned char>(c);
      const char text[6] = {'\\', 'u', '0', '0', kHex[byte >> 4U], kHex[byte & 15U]};
      return out.append({text, sizeof text});
    }
  }
}

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

void append_json_string(ByteBuffer& out, std::string_view text) {
  out.push_back('"');
  for (;;) {
    const std::size_t plain = plain_prefix(text);
    out.append(text.substr(0, plain));
    if (plain == text.size()) break;
    append_escape(out, text[plain]);
    text.remove_prefix(plain + 1);
  }
  out.push_back('"');
}

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
