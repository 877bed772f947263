// SPDX-License-Identifier: Apache-2.0
#include "ops/transforms/rename_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "millrace/base/json_string.h"
#include "millrace/base/printable.h"
#include "millrace/base/utf8.h"

namespace millrace::transforms {

Result<RenameStep> RenameStep::make(const Names& fields) {
  if (fields.empty()) return fail(Error::config("names no field; list at least one"));
  RenameStep step;
  std::vector<FieldPath> paths;
  std::set<std::pair<std::vector<std::string>, std::string>> targets;
  for (const auto& [path, name] : fields) {
    if (first_invalid_utf8(name) != std::string_view::npos) return fail(Error::config("a new name is not UTF-8"));
    if (path.names.empty()) return fail(Error::config("a path has no name at all"));
    if (path.names.back() == name) {
      return fail(Error::config(fmt::format("'{}' has that name already", printable(path.text(), 200))));
    }
    std::vector<std::string> in(path.names.begin(), path.names.end() - 1);
    if (!targets.emplace(std::move(in), name).second) {
      return fail(Error::config(fmt::format(
          "two fields of one object would be called '{}'; each needs a name of its own", printable(name, 200))));
    }
    paths.push_back(path);
    step.looks_ahead_ = step.looks_ahead_ || path.names.size() > 1;
    step.names_.push_back(name);
    ByteBuffer quoted;
    append_json_string(quoted, name);
    step.quoted_.emplace_back(quoted.view());
  }
  MILLRACE_ASSIGN(step.tree_, PathTree::make(paths));
  step.last_.resize(step.tree_.slots());
  return step;
}

std::size_t RenameStep::growth(const Names& fields) {
  std::size_t bytes = 0;
  for (const auto& [path, name] : fields) bytes += 6 * name.size();
  return bytes;
}

Effect RenameStep::apply(const Document& document, RunContext& /*context*/, Edits& edits) {
  if (!document.is_object(document.root())) return Effect::untouched;
  if (looks_ahead_) found_.look(tree_, document);
  object(document, document.root(), 0, true, edits);
  return edits.empty() ? Effect::untouched : Effect::edited;
}

/// `counts`: no later object of its key shadows this one.
void RenameStep::object(const Document& document, Token object, int node, bool counts, Edits& edits) {
  const PathTree::Node& branches = tree_.node(node);
  for (const PathTree::Branch& branch : branches) last_[branch.slot] = nullptr;
  document.each_member(object, [&](const Member& member) {
    const int found = PathTree::find(branches, document, member.key, scratch_);
    if (found != PathTree::kNone) last_[branches[static_cast<std::size_t>(found)].slot] = member.key;
  });
  const auto renames = [&](const PathTree::Branch& branch) {
    if (branch.leaf == PathTree::kNone) return false;
    return counts ? last_[branch.slot] != nullptr : found_.value(branch.leaf) != nullptr;
  };
  const auto takes = [&](std::string_view name) {
    return std::ranges::any_of(branches, [&](const PathTree::Branch& branch) {
      return renames(branch) && names_[static_cast<std::size_t>(branch.leaf)] == name;
    });
  };
  Commas commas(document, edits);
  document.each_member(object, [&](const Member& member) {
    const int found = PathTree::find(branches, document, member.key, scratch_);
    const PathTree::Branch* branch = found == PathTree::kNone ? nullptr : &branches[static_cast<std::size_t>(found)];
    const bool last = branch != nullptr && last_[branch->slot] == member.key;
    if (branch != nullptr && renames(*branch)) {
      if (!counts || !last) return commas.drop(member);
      commas.keep();
      edits.open(*member.key, *member.key + document.raw_string(member.key).size() + 2);
      edits.texts().append(quoted_[static_cast<std::size_t>(branch->leaf)]);
      edits.close();
      return;
    }
    if (takes(text_of(document, member.key, scratch_))) return commas.drop(member);
    commas.keep();
    if (branch != nullptr && branch->below != PathTree::kNone && document.is_object(member.value)) {
      // Its slots are not those of this one.
      this->object(document, member.value, branch->below, counts && last, edits);
    }
  });
}

}  // namespace millrace::transforms
