// SPDX-License-Identifier: Apache-2.0
#include "ops/transforms/drop_fields.h"

#include <fmt/format.h>

#include <algorithm>

namespace millrace::transforms {
namespace {

Result<PathTree> tree_of(const std::vector<FieldPath>& fields) {
  if (fields.empty()) return fail(Error::config("names no field; list at least one"));
  return PathTree::make(fields);
}

Effect effect_of(const Edits& edits) { return edits.empty() ? Effect::untouched : Effect::edited; }

}  // namespace

Result<DropFields> DropFields::make(const std::vector<FieldPath>& fields) {
  DropFields drop;
  MILLRACE_ASSIGN(drop.tree_, tree_of(fields));
  return drop;
}

Effect DropFields::apply(const Document& document, RunContext& /*context*/, Edits& edits) {
  if (document.is_object(document.root())) object(document, document.root(), 0, edits);
  return effect_of(edits);
}

void DropFields::object(const Document& document, Token object, int node, Edits& edits) {
  const PathTree::Node& branches = tree_.node(node);
  Commas commas(document, edits);
  document.each_member(object, [&](const Member& member) {
    const int found = PathTree::find(branches, document, member.key, scratch_);
    if (found == PathTree::kNone) return commas.keep();
    const PathTree::Branch& branch = branches[static_cast<std::size_t>(found)];
    if (branch.leaf != PathTree::kNone) return commas.drop(member);
    commas.keep();
    if (document.is_object(member.value)) this->object(document, member.value, branch.below, edits);
  });
}

Result<KeepFields> KeepFields::make(const std::vector<FieldPath>& fields) {
  KeepFields keep;
  MILLRACE_ASSIGN(keep.tree_, tree_of(fields));
  keep.last_.resize(keep.tree_.slots());
  return keep;
}

Effect KeepFields::apply(const Document& document, RunContext& context, Edits& edits) {
  if (!document.is_object(document.root())) {
    return context.fail(ErrorCode::wrong_type,
                        fmt::format("the document is {}, and only an object has fields to choose from",
                                    kind_of(document.first(document.root()))));
  }
  object(document, document.root(), 0, edits);
  return effect_of(edits);
}

void KeepFields::object(const Document& document, Token object, int node, Edits& edits) {
  const PathTree::Node& branches = tree_.node(node);
  begin(document, object, branches);
  Commas commas(document, edits);
  document.each_member(object, [&](const Member& member) { field(document, member, branches, commas, edits); });
}

void KeepFields::begin(const Document& document, Token object, const PathTree::Node& node) {
  const auto in_part = [](const PathTree::Branch& branch) { return branch.leaf == PathTree::kNone; };
  if (std::ranges::none_of(node, in_part)) return;
  document.each_member(object, [&](const Member& member) {
    const int found = PathTree::find(node, document, member.key, scratch_);
    if (found != PathTree::kNone) last_[node[static_cast<std::size_t>(found)].slot] = member.key;
  });
}

void KeepFields::field(const Document& document, const Member& member, const PathTree::Node& node, Commas& commas,
                       Edits& edits) {
  const int found = PathTree::find(node, document, member.key, scratch_);
  if (found == PathTree::kNone) return commas.drop(member);
  const PathTree::Branch& branch = node[static_cast<std::size_t>(found)];
  if (branch.leaf != PathTree::kNone) return commas.keep();
  // What an earlier one under the key says does not count, and must not begin to.
  if (last_[branch.slot] != member.key || !document.is_object(member.value)) return commas.drop(member);
  commas.keep();
  object(document, member.value, branch.below, edits);
}

}  // namespace millrace::transforms
