// SPDX-License-Identifier: Apache-2.0
// Document: a JSON document by its tokens, as transforms look at it. What it says of objects and members is true of
// sound documents only. Lane thread; its memory is kept from one document to the next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "decode/json_kind.h"
#include "decode/json_tokens.h"
#include "decode/json_walk.h"

namespace millrace::transforms {

using Token = const std::uint32_t*;

/// A field of an object.
struct Member {
  Token key;
  Token value;
  Token behind;  ///< the comma or brace behind the value
};

class Document {
 public:
  /// Looks at `text`, which stays until the next one.
  void reset(std::string_view text, std::size_t readable_padding) noexcept {
    text_ = text;
    padding_ = readable_padding;
    scanned_ = false;
  }
  /// Finds the tokens, once per document. False, with fault(): it is no JSON, or too large.
  [[nodiscard]] bool scan() {
    if (!scanned_) scanned_ = tokens_.scan(text_, padding_, fault_);
    return scanned_;
  }
  /// The same with the whole grammar.
  [[nodiscard]] bool check() { return scan() && walk_document(tokens_, fault_); }

  [[nodiscard]] std::string_view text() const noexcept { return text_; }
  [[nodiscard]] std::size_t padding() const noexcept { return padding_; }
  [[nodiscard]] const JsonFault& fault() const noexcept { return fault_; }
  [[nodiscard]] const JsonTokens& tokens() const noexcept { return tokens_; }

  [[nodiscard]] Token root() const noexcept { return tokens_.begin(); }
  [[nodiscard]] char first(Token token) const noexcept { return tokens_.first_byte(token); }
  [[nodiscard]] bool is_object(Token token) const noexcept { return first(token) == '{'; }
  /// The token behind the value that begins at `token`.
  [[nodiscard]] Token behind(Token token) const noexcept {
    char byte = first(token);
    if (byte != '{' && byte != '[') return token + 1;
    for (std::size_t depth = 1; depth != 0;) {
      byte = first(++token);
      depth += static_cast<std::size_t>(byte == '{' || byte == '[');
      depth -= static_cast<std::size_t>(byte == '}' || byte == ']');
    }
    return token + 1;
  }
  /// Byte behind the value before `behind`, where only blanks can stand.
  [[nodiscard]] std::size_t value_end(Token behind) const noexcept {
    std::size_t end = *behind;
    while (is_blank(text_[end - 1])) --end;
    return end;
  }
  [[nodiscard]] std::string_view value(Token token, Token behind) const noexcept {
    return text_.substr(*token, value_end(behind) - *token);
  }
  /// Between its quotes, escapes and all.
  [[nodiscard]] std::string_view raw_string(Token token) const noexcept { return tokens_.raw_string(token); }

  /// Calls `take(const Member&)` for each field of `object`, in order.
  template <class Take>
  void each_member(Token object, Take&& take) const {
    Token at = object + 1;
    while (first(at) != '}') {
      const Member member{at, at + 2, behind(at + 2)};
      take(member);
      at = first(member.behind) == ',' ? member.behind + 1 : member.behind;
    }
  }

 private:
  [[nodiscard]] static bool is_blank(char c) noexcept { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

  std::string_view text_;
  std::size_t padding_ = 0;
  bool scanned_ = false;
  JsonTokens tokens_;
  JsonFault fault_;
};

}  // namespace millrace::transforms
