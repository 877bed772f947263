// SPDX-License-Identifier: Apache-2.0
#include "ops/transforms/path_tree.h"

#include <fmt/format.h>

#include <algorithm>

#include "decode/json_escapes.h"
#include "decode/same_bytes.h"
#include "millrace/base/printable.h"

namespace millrace::transforms {

std::string_view text_of(const Document& document, Token string, ByteBuffer& scratch) {
  const std::string_view raw = document.raw_string(string);
  if (!document.tokens().has_escapes() || raw.find('\\') == std::string_view::npos) [[likely]]
    return raw;
  scratch.clear();
  char* const to = scratch.grow(raw.size());
  return {to, static_cast<std::size_t>(unescape(raw, to, LoneSurrogates::keep) - to)};
}

int PathTree::find(const Node& node, const Document& document, Token key, ByteBuffer& scratch) {
  const std::string_view name = text_of(document, key, scratch);
  for (std::size_t i = 0; i < node.size(); ++i) {
    if (same_text(node[i].name, name)) return static_cast<int>(i);
  }
  return kNone;
}

Result<PathTree> PathTree::make(std::span<const FieldPath> paths, bool apart) {
  PathTree tree;
  tree.leaves_ = paths.size();
  for (std::size_t leaf = 0; leaf < paths.size(); ++leaf) {
    const FieldPath& path = paths[leaf];
    const auto refuse = [&](std::string_view why) {
      return fail(Error::config(fmt::format("'{}' {}", printable(path.text(), 200), why)));
    };
    if (path.names.empty()) return fail(Error::config("a path has no name at all"));
    std::size_t at = 0;
    for (std::size_t i = 0; i < path.names.size(); ++i) {
      const auto known = std::ranges::find(tree.nodes_[at], path.names[i], &Branch::name);
      const auto index = static_cast<std::size_t>(known - tree.nodes_[at].begin());
      if (known == tree.nodes_[at].end()) tree.nodes_[at].push_back({path.names[i], kNone, kNone, tree.slots_++});
      Branch& branch = tree.nodes_[at][index];
      const bool last = i + 1 == path.names.size();
      if (last && branch.leaf != kNone) return refuse("is there twice");
      if (apart && (last ? branch.below != kNone : branch.leaf != kNone)) {
        return refuse("and another path here lead one below the other; write two transforms, in the order you mean");
      }
      if (last) {
        branch.leaf = static_cast<int>(leaf);
      } else {
        if (branch.below == kNone) {
          branch.below = static_cast<int>(tree.nodes_.size());
          at = tree.nodes_.size();
          tree.nodes_.emplace_back();
        } else {
          at = static_cast<std::size_t>(branch.below);
        }
      }
    }
  }
  return tree;
}

}  // namespace millrace::transforms
