// SPDX-License-Identifier: Apache-2.0
// JqWord: what a program of jq calls by name, told apart from texts, comments, fields and the keys of objects; and what
// of it has no place in a pipeline. Pure; also where libjq is not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"

namespace millrace::transforms {

struct JqWord {
  enum class Kind : std::uint8_t {
    name,      ///< a function or a keyword, of this program or of jq
    variable,  ///< `text` without the dollar
    comment,   ///< one that ends with a backslash, and goes on in the next line for some versions of jq
  };
  Kind kind = Kind::name;
  std::string_view text;
  std::size_t end = 0;  ///< byte behind it
};

/// Of a program that jq takes; of others what they look like. Borrows `program`.
[[nodiscard]] std::vector<JqWord> words_of_jq(std::string_view program);

/// Refuses (config) what reaches out of the document: other files, the environment, standard streams.
[[nodiscard]] Result<void> check_jq_words(std::string_view program);
/// What in a program says something else at another time or in another time zone; empty when nothing does.
[[nodiscard]] std::string_view jq_varies_with(std::string_view program);

}  // namespace millrace::transforms
