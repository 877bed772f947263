// SPDX-License-Identifier: Apache-2.0
// PathTree: several paths looked for together, so that an object's fields are stepped over once. Keys are compared by
// what they say: "a\u0062c" is found as "abc". Immutable once made.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/bytes.h"
#include "millrace/base/result.h"
#include "millrace/ops/field_path.h"
#include "ops/transforms/document.h"

namespace millrace::transforms {

class PathTree {
 public:
  static constexpr int kNone = -1;

  struct Branch {
    std::string name;
    int leaf = kNone;      ///< index of the path that ends here
    int below = kNone;     ///< node of the paths that go on
    std::size_t slot = 0;  ///< counts the branches of the whole tree
  };
  using Node = std::vector<Branch>;

  /// Refuses (config) a path that is there twice or, `apart`, that leads below another.
  [[nodiscard]] static Result<PathTree> make(std::span<const FieldPath> paths, bool apart = true);

  [[nodiscard]] const Node& node(int index) const noexcept { return nodes_[static_cast<std::size_t>(index)]; }
  [[nodiscard]] std::size_t slots() const noexcept { return slots_; }
  /// How many paths it was made of.
  [[nodiscard]] std::size_t leaves() const noexcept { return leaves_; }
  /// Index of the branch of `node` that is called what this key says; kNone. `scratch` is for keys with escapes.
  [[nodiscard]] static int find(const Node& node, const Document& document, Token key, ByteBuffer& scratch);

 private:
  std::vector<Node> nodes_{Node()};
  std::size_t slots_ = 0;
  std::size_t leaves_ = 0;
};

/// What a key or string token says; borrows the document or `scratch`.
[[nodiscard]] std::string_view text_of(const Document& document, Token string, ByteBuffer& scratch);

}  // namespace millrace::transforms
