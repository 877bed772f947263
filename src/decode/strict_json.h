// SPDX-License-Identifier: Apache-2.0
// A second opinion on JSON, for tests and fuzzing: RFC 8259 read off the page as a recursive descent, byte by byte,
// sharing nothing with what it judges.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace millrace {

class StrictJson {
 public:
  explicit StrictJson(std::string_view text, int max_depth = 1024) : text_(text), max_depth_(max_depth) {}

  /// One value with nothing but blanks around it.
  bool is_document() {
    at_ = 0;
    repeated_key = false;
    blanks();
    if (!value(0)) return false;
    blanks();
    return at_ == text_.size();
  }
  bool repeated_key = false;  ///< some object has a key twice, by what the keys say; of a sound document only

 private:
  [[nodiscard]] bool more() const { return at_ < text_.size(); }
  [[nodiscard]] char peek() const { return more() ? text_[at_] : '\0'; }
  bool take(char c) {
    if (!more() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void blanks() {
    while (more() && (peek() == ' ' || peek() == '\t' || peek() == '\n' || peek() == '\r')) ++at_;
  }
  bool word(std::string_view w) {
    if (text_.substr(at_, w.size()) != w) return false;
    at_ += w.size();
    return true;
  }

  bool value(int depth) {
    std::string ignored;
    switch (peek()) {
      case '{':
        return depth < max_depth_ && object(depth + 1);
      case '[':
        return depth < max_depth_ && array(depth + 1);
      case '"':
        return string(ignored);
      case 't':
        return word("true");
      case 'f':
        return word("false");
      case 'n':
        return word("null");
      default:
        return number();
    }
  }

  bool object(int depth) {
    take('{');
    blanks();
    if (take('}')) return true;
    std::set<std::string> keys;
    do {
      blanks();
      std::string key;
      if (!string(key)) return false;
      if (!keys.insert(key).second) repeated_key = true;
      blanks();
      if (!take(':')) return false;
      blanks();
      if (!value(depth)) return false;
      blanks();
    } while (take(','));
    return take('}');
  }

  bool array(int depth) {
    take('[');
    blanks();
    if (take(']')) return true;
    do {
      blanks();
      if (!value(depth)) return false;
      blanks();
    } while (take(','));
    return take(']');
  }

  bool digits() {
    const std::size_t begin = at_;
    while (more() && peek() >= '0' && peek() <= '9') ++at_;
    return at_ != begin;
  }
  bool number() {
    take('-');
    if (!take('0') && !digits()) return false;
    if (take('.') && !digits()) return false;
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      if (!digits()) return false;
    }
    return true;
  }

  // One code unit of a \u escape.
  bool unit(std::uint32_t& out) {
    out = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const char c = peek();
      if (c >= '0' && c <= '9') {
        out = out * 16 + static_cast<std::uint32_t>(c - '0');
      } else if (c >= 'a' && c <= 'f') {
        out = out * 16 + static_cast<std::uint32_t>(c - 'a' + 10);
      } else if (c >= 'A' && c <= 'F') {
        out = out * 16 + static_cast<std::uint32_t>(c - 'A' + 10);
      } else {
        return false;
      }
    }
    return true;
  }
  // Code points as decimal numbers with commas: a spelling of its own, so that equal keys are equal whatever UTF-8
  // says.
  bool string(std::string& out) {
    if (!take('"')) return false;
    while (more()) {
      const auto c = static_cast<unsigned char>(text_[at_]);
      if (c == '"') {
        ++at_;
        return true;
      }
      if (c < 0x20) return false;
      std::uint32_t point = 0;
      if (c == '\\') {
        ++at_;
        if (!escape(point)) return false;
      } else if (!character(point)) {
        return false;
      }
      out += std::to_string(point) + ",";
    }
    return false;
  }
  bool escape(std::uint32_t& point) {
    static constexpr std::string_view kNames = "\"\\/bfnrt";
    static constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    if (take('u')) {
      if (!unit(point)) return false;
      if (point >= 0xD800 && point <= 0xDBFF && text_.substr(at_, 2) == "\\u") {
        const std::size_t back = at_;
        at_ += 2;
        std::uint32_t low = 0;
        if (unit(low) && low >= 0xDC00 && low <= 0xDFFF) {
          point = 0x10000 + (point - 0xD800) * 0x400 + (low - 0xDC00);
        } else {
          at_ = back;
        }
      }
      return true;
    }
    const std::size_t which = more() ? kNames.find(peek()) : std::string_view::npos;
    if (which == std::string_view::npos) return false;
    ++at_;
    point = static_cast<unsigned char>(kMeanings[which]);
    return true;
  }
  // One UTF-8 sequence: shortest form, no surrogate, at most U+10FFFF.
  bool character(std::uint32_t& point) {
    const auto lead = static_cast<unsigned char>(text_[at_++]);
    int more_bytes = 0;
    std::uint32_t least = 0;
    if (lead < 0x80) {
      point = lead;
    } else if ((lead & 0xE0U) == 0xC0) {
      point = lead & 0x1FU, more_bytes = 1, least = 0x80;
    } else if ((lead & 0xF0U) == 0xE0) {
      point = lead & 0x0FU, more_bytes = 2, least = 0x800;
    } else if ((lead & 0xF8U) == 0xF0) {
      point = lead & 0x07U, more_bytes = 3, least = 0x10000;
    } else {
      return false;
    }
    for (; more_bytes > 0; --more_bytes) {
      if (!more() || (static_cast<unsigned char>(text_[at_]) & 0xC0U) != 0x80) return false;
      point = point << 6U | (static_cast<unsigned char>(text_[at_++]) & 0x3FU);
    }
    return point >= least && point <= 0x10FFFF && (point < 0xD800 || point > 0xDFFF);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int max_depth_;
};

}  // namespace millrace
