// SPDX-License-Identifier: Apache-2.0
// JsonTokens: where each brace, bracket, colon, comma, string and scalar of a document begins. simdjson's first stage
// finds them at several bytes a cycle and settles three things on the way: the bytes are UTF-8, strings are closed, no
// control character stands in one. What the tokens say together is for JsonWalk and JsonCursor to judge (ADR-0004).
// One per lane; its memory is kept from one document to the next: four bytes a token, and a copy where padding is
// missing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "millrace/base/bytes.h"
#include "millrace/base/error.h"

namespace millrace {

/// What is wrong with a document, without a cost on the way there: the words are literals.
struct JsonFault {
  ErrorCode code = ErrorCode::malformed;
  std::size_t at = 0;  ///< byte of the document
  const char* what = "";
};

class JsonTokens {
 public:
  JsonTokens();
  JsonTokens(JsonTokens&&) noexcept;
  JsonTokens& operator=(JsonTokens&&) noexcept;
  ~JsonTokens();

  /// Finds the tokens of `document`, in place when at least kBytePadding bytes behind it may be read, in a copy
  /// otherwise. False: `fault` says why. The document must stay until the next scan.
  [[nodiscard]] bool scan(std::string_view document, std::size_t readable_padding, JsonFault& fault);

  /// The document, or its copy.
  [[nodiscard]] const char* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// Byte positions of the tokens. end()[0] and end()[1] may be read: both are size().
  [[nodiscard]] const std::uint32_t* begin() const noexcept { return begin_; }
  [[nodiscard]] const std::uint32_t* end() const noexcept { return end_; }
  [[nodiscard]] bool has_escapes() const noexcept { return has_escapes_; }

  [[nodiscard]] char first_byte(const std::uint32_t* token) const noexcept { return data_[*token]; }
  /// What stands between the quotes of a string token, escapes and all.
  [[nodiscard]] std::string_view raw_string(const std::uint32_t* token) const noexcept {
    // Only blanks can lie between a closing quote and the next token.
    const char* last = data_ + token[1] - 1;
    while (*last != '"') --last;
    return {data_ + *token + 1, static_cast<std::size_t>(last - (data_ + *token + 1))};
  }
  /// A scalar token (number, true, false, null) without the blanks behind it.
  [[nodiscard]] std::string_view scalar(const std::uint32_t* token) const noexcept {
    const char* end = data_ + token[1];
    while (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\n' || end[-1] == '\r') --end;
    return {data_ + *token, static_cast<std::size_t>(end - (data_ + *token))};
  }

 private:
  struct Stage;
  [[nodiscard]] bool make_room(std::size_t size);
  [[gnu::cold]] void explain(int simdjson_code, JsonFault& fault) const;

  std::unique_ptr<Stage> stage_;
  ByteBuffer copy_;
  const char* data_ = nullptr;
  std::size_t size_ = 0;
  const std::uint32_t* begin_ = nullptr;
  const std::uint32_t* end_ = nullptr;
  bool has_escapes_ = false;
};

}  // namespace millrace
