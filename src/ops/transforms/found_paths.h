// SPDX-License-Identifier: Apache-2.0
// FoundPaths: where the paths of a tree lead in one document. Of a key that comes twice the last one counts. Lane
// thread; memory is kept.
#pragma once

#include <vector>

#include "ops/transforms/path_tree.h"

namespace millrace::transforms {

class FoundPaths {
 public:
  void look(const PathTree& tree, const Document& document);
  /// The value that path number `leaf` leads to, in the document looked at last; null: it leads nowhere.
  [[nodiscard]] Token value(int leaf) const noexcept { return found_[static_cast<std::size_t>(leaf)]; }

 private:
  void look(const PathTree& tree, const Document& document, Token object, int node);
  void forget(const PathTree& tree, int node);

  std::vector<Token> found_;
  ByteBuffer scratch_;
};

}  // namespace millrace::transforms
