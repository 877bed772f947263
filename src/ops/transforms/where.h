// SPDX-License-Identifier: Apache-2.0
// Where: the expression of `filter`: what of a document must hold. Parsed once; then lane thread.
//
//   either := both ("or" both)*           both := one ("and" one)*
//   one    := "not" one | "(" either ")" | "exists" "(" path ")" | path order literal
//   order  := "==" | "!=" | "<" | "<=" | ">" | ">="
//   path   := name ("." name)*            name := letters, digits, '_', '-', '$', '@', bytes above 127, `\` and any
//                                                 ASCII character; or a JSON string
//   literal := a JSON number or string, true, false, null
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"
#include "ops/transforms/found_paths.h"

namespace millrace::transforms {

/// One step of an expression, which is evaluated from its root.
struct WhereNode {
  enum class Kind : std::uint8_t { exists, compare, negation, both, either } kind = Kind::exists;
  enum class Order : std::uint8_t { equal, not_equal, less, less_or_equal, greater, greater_or_equal };
  Order order = Order::equal;
  int path = 0;        ///< exists, compare
  int left = 0;        ///< negation, both, either
  int right = 0;       ///< both, either
  char literal = 'n';  ///< '"', '0' for a number, 't', 'f', 'n'
  std::string text;    ///< of a string without escapes, of a number as it is spelled
};

struct WhereExpression {
  std::vector<WhereNode> nodes;
  int root = 0;
  std::vector<FieldPath> paths;
};

/// Fails (config) with the character at which it is no expression.
[[nodiscard]] Result<WhereExpression> parse_where(std::string_view text);

class Where {
 public:
  [[nodiscard]] static Result<Where> make(std::string_view text);
  /// Whether the document meets it. What a path does not lead to equals nothing and is neither less nor greater; so
  /// does a value of another kind than the literal. `!=` is what `==` is not.
  [[nodiscard]] bool met_by(const Document& document);

 private:
  [[nodiscard]] bool holds(const Document& document, int node);
  [[nodiscard]] bool compares(const Document& document, Token value, const WhereNode& node);

  WhereExpression expression_;
  PathTree tree_;
  FoundPaths found_;
  ByteBuffer scratch_;
};

}  // namespace millrace::transforms
