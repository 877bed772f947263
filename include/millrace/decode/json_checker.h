// SPDX-License-Identifier: Apache-2.0
// JsonChecker: is this one JSON document, by the whole grammar. Nothing is built and nothing rewritten; the answer is a
// view of the bytes given. One per lane and user; its memory is kept from one document to the next.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "millrace/base/borrow.h"
#include "millrace/base/error.h"
#include "millrace/decode/payload.h"

#pragma GCC visibility push(default)
namespace millrace {

class JsonChecker {
 public:
  JsonChecker();
  JsonChecker(JsonChecker&&) noexcept;
  JsonChecker& operator=(JsonChecker&&) noexcept;
  ~JsonChecker();

  /// Whether an object that has a key twice, at any depth, is refused (duplicate_key). Off: it passes as it came.
  void reject_duplicate_keys(bool reject) noexcept { reject_duplicate_keys_ = reject; }

  /// Checks `document`, with `readable_padding` readable bytes behind it (kBytePadding saves a copy). False: error()
  /// says why.
  [[nodiscard]] bool check(std::string_view document, std::size_t readable_padding, decode::Json& json);
  /// The same for a document that is an array; `elements` gets its elements.
  [[nodiscard]] bool check_array(std::string_view document, std::size_t readable_padding,
                                 std::vector<decode::Json>& elements);
  /// Why the last check said false: class record; malformed, invalid_utf8, duplicate_key, wrong_type, limit or
  /// too_large, with the byte and, where one is to be had, a hint.
  [[nodiscard, gnu::cold]] Error error() const;

 private:
  [[nodiscard]] bool check_whole(std::string_view document, std::size_t readable_padding);

  struct State;
  std::unique_ptr<State> state_;
  bool reject_duplicate_keys_ = false;
};

/// A payload is UTF-8 from end to end.
[[nodiscard]] bool is_utf8_text(std::string_view bytes) noexcept;
/// The record error of a payload that is not: names the first bad byte.
[[nodiscard, gnu::cold]] Error not_utf8(std::string_view bytes);

}  // namespace millrace
#pragma GCC visibility pop
