// SPDX-License-Identifier: Apache-2.0
#include "ops/transforms/found_paths.h"

namespace millrace::transforms {

void FoundPaths::look(const PathTree& tree, const Document& document) {
  found_.assign(tree.leaves(), nullptr);
  if (document.is_object(document.root())) look(tree, document, document.root(), 0);
}

void FoundPaths::look(const PathTree& tree, const Document& document, Token object, int node) {
  const PathTree::Node& branches = tree.node(node);
  document.each_member(object, [&](const Member& member) {
    const int at = PathTree::find(branches, document, member.key, scratch_);
    if (at == PathTree::kNone) return;
    const PathTree::Branch& branch = branches[static_cast<std::size_t>(at)];
    if (branch.leaf != PathTree::kNone) found_[static_cast<std::size_t>(branch.leaf)] = member.value;
    if (branch.below == PathTree::kNone) return;
    forget(tree, branch.below);
    if (document.is_object(member.value)) look(tree, document, member.value, branch.below);
  });
}

void FoundPaths::forget(const PathTree& tree, int node) {
  for (const PathTree::Branch& branch : tree.node(node)) {
    if (branch.leaf != PathTree::kNone) found_[static_cast<std::size_t>(branch.leaf)] = nullptr;
    if (branch.below != PathTree::kNone) forget(tree, branch.below);
  }
}

}  // namespace millrace::transforms
