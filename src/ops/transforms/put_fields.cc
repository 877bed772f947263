// SPDX-License-Identifier: Apache-2.0
#include "ops/transforms/put_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "millrace/base/json_string.h"
#include "millrace/base/printable.h"

namespace millrace::transforms {
namespace {

constexpr std::size_t kNoMatch = static_cast<std::size_t>(-1);

}  // namespace

Result<PutFields> PutFields::make(const std::vector<ops::FieldSetting>& settings) {
  if (settings.empty()) return fail(Error::config("names no field; list at least one"));
  PutFields put;
  std::vector<FieldPath> paths;
  for (const ops::FieldSetting& setting : settings) {
    MILLRACE_TRY(check_value(setting.value));
    paths.push_back(setting.key);
    put.looks_ahead_ =
        put.looks_ahead_ || (setting.condition == ops::SetWhen::key_exists && setting.key.names.size() > 1);
  }
  MILLRACE_ASSIGN(put.tree_, PathTree::make(paths));
  put.settings_ = settings;
  // Between tokens only, as the value is sound; so a document that is one line stays one.
  for (ops::FieldSetting& setting : put.settings_) {
    std::ranges::replace_if(setting.value.json, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  }
  put.keys_.resize(put.tree_.slots());
  put.puts_.resize(put.tree_.slots());
  put.last_.resize(put.tree_.slots());
  const auto fill = [&](const auto& self, int node) -> bool {
    bool any = false;
    for (const PathTree::Branch& branch : put.tree_.node(node)) {
      ByteBuffer key;
      append_json_string(key, branch.name);
      key.push_back(':');
      put.keys_[branch.slot] = key.view();
      const bool puts = branch.leaf == PathTree::kNone
                            ? self(self, branch.below)
                            : settings[static_cast<std::size_t>(branch.leaf)].condition != ops::SetWhen::key_exists;
      put.puts_[branch.slot] = static_cast<char>(puts);
      any = any || puts;
    }
    return any;
  };
  fill(fill, 0);
  return put;
}

std::size_t PutFields::growth(const std::vector<ops::FieldSetting>& settings) {
  std::size_t bytes = 0;
  for (const ops::FieldSetting& setting : settings) {
    bytes += std::max(setting.value.json.size(), kLongestComputed) + 1;
    // Escaped, in quotes, with a colon and perhaps braces.
    for (const std::string& name : setting.key.names) bytes += 6 * name.size() + 5;
  }
  return bytes;
}

Effect PutFields::apply(const Document& document, RunContext& context, Edits& edits) {
  document_ = &document;
  context_ = &context;
  edits_ = &edits;
  const Token root = document.root();
  if (!document.is_object(root)) {
    for (const PathTree::Branch& branch : tree_.node(0)) {
      if (puts_[branch.slot] == 0) continue;
      return context.fail(ErrorCode::wrong_type,
                          fmt::format("'{}' cannot be set: the document is {}, and only an object has fields",
                                      printable(first_put(branch), 200), kind_of(document.first(root))));
    }
    return Effect::untouched;
  }
  matches_.clear();
  if (looks_ahead_) found_.look(tree_, document);
  if (!object(root, 0, true)) return Effect::failed;
  return edits.empty() ? Effect::untouched : Effect::edited;
}

bool PutFields::object(Token object, int node, bool counts) {
  if (!counts) {
    drop_below(object, node);
    return true;
  }
  const PathTree::Node& branches = tree_.node(node);
  for (const PathTree::Branch& branch : branches) last_[branch.slot] = kNoMatch;
  const std::size_t first = matches_.size();
  bool others = false;
  bool any = false;
  Token last_behind = object + 1;
  document_->each_member(object, [&](const Member& member) {
    any = true;
    last_behind = member.behind;
    const int found = PathTree::find(branches, *document_, member.key, scratch_);
    if (found == PathTree::kNone) {
      others = true;
      return;
    }
    last_[branches[static_cast<std::size_t>(found)].slot] = matches_.size();
    matches_.push_back({member, found, std::exchange(others, false)});
  });
  const std::size_t end = matches_.size();
  Commas commas(*document_, *edits_);
  for (std::size_t i = first; i < end; ++i) {
    const Match match = matches_[i];
    const PathTree::Branch& branch = branches[static_cast<std::size_t>(match.branch)];
    if (match.others_before) commas.keep();
    const bool last = last_[branch.slot] == i;
    if (branch.leaf == PathTree::kNone) {
      commas.keep();
      if (document_->is_object(match.member.value)) {
        if (!this->object(match.member.value, branch.below, last)) return false;
      } else if (last && puts_[branch.slot] != 0) {
        return refuse_way(match.member, branch);
      }
      continue;
    }
    const auto setting = static_cast<std::size_t>(branch.leaf);
    if (settings_[setting].condition == ops::SetWhen::key_not_exists) {
      commas.keep();
    } else if (!last) {
      commas.drop(match.member);
    } else {
      commas.keep();
      edits_->open(*match.member.value, document_->value_end(match.member.behind));
      if (!put_value(setting)) return false;
      edits_->close();
    }
  }
  matches_.resize(first);
  return insert_absent(object, node, last_behind, any);
}

/// `last_behind`: the token behind the object's last field.
bool PutFields::insert_absent(Token object, int node, Token last_behind, bool any) {
  bool comma = any;
  bool opened = false;
  for (const PathTree::Branch& branch : tree_.node(node)) {
    if (puts_[branch.slot] == 0 || last_[branch.slot] != kNoMatch) continue;
    if (!opened) {
      const std::size_t at = any ? document_->value_end(last_behind) : *object + 1;
      edits_->open(at, at);
      opened = true;
    }
    if (comma) edits_->texts().push_back(',');
    comma = true;
    if (!put_nested(branch)) return false;
  }
  if (opened) edits_->close();
  return true;
}

bool PutFields::put_nested(const PathTree::Branch& branch) {
  ByteBuffer& out = edits_->texts();
  out.append(keys_[branch.slot]);
  if (branch.leaf != PathTree::kNone) return put_value(static_cast<std::size_t>(branch.leaf));
  out.push_back('{');
  bool comma = false;
  for (const PathTree::Branch& inner : tree_.node(branch.below)) {
    if (puts_[inner.slot] == 0) continue;
    if (comma) out.push_back(',');
    comma = true;
    if (!put_nested(inner)) return false;
  }
  out.push_back('}');
  return true;
}

bool PutFields::put_value(std::size_t setting) {
  const ops::FieldValue& value = settings_[setting].value;
  if (append_value(value, *context_, edits_->texts())) return true;
  return refuse(ErrorCode::missing_field,
                fmt::format("'{}' cannot be set to {}: the source gives this record no time, or one that cannot be "
                            "written so; take the clock's ({})",
                            printable(settings_[setting].key.text(), 200), name_of(value.computed),
                            name_of(by_the_clock(value.computed))));
}

/// In an object that is shadowed by a later one under the same key: what is set there must not stay behind.
void PutFields::drop_below(Token object, int node) {
  const PathTree::Node& branches = tree_.node(node);
  Commas commas(*document_, *edits_);
  document_->each_member(object, [&](const Member& member) {
    const int found = PathTree::find(branches, *document_, member.key, scratch_);
    if (found == PathTree::kNone) return commas.keep();
    const PathTree::Branch& branch = branches[static_cast<std::size_t>(found)];
    if (branch.leaf != PathTree::kNone && sets(branch.leaf)) return commas.drop(member);
    commas.keep();
    if (branch.leaf == PathTree::kNone && document_->is_object(member.value)) drop_below(member.value, branch.below);
  });
}

bool PutFields::refuse(ErrorCode code, std::string text) {
  context_->failure = Error::record(code, std::move(text));
  return false;
}

/// Whether a field that is there already is set.
bool PutFields::sets(int setting) const noexcept {
  const ops::SetWhen condition = settings_[static_cast<std::size_t>(setting)].condition;
  if (condition != ops::SetWhen::key_exists) return condition == ops::SetWhen::always;
  return !looks_ahead_ || found_.value(setting) != nullptr;
}

/// Of the paths that lead through `branch`, the first by which something is put where nothing is.
std::string PutFields::first_put(const PathTree::Branch& branch) const {
  const PathTree::Branch* to = &branch;
  while (to->leaf == PathTree::kNone) {
    to = &*std::ranges::find_if(tree_.node(to->below),
                                [&](const PathTree::Branch& one) { return puts_[one.slot] != 0; });
  }
  return settings_[static_cast<std::size_t>(to->leaf)].key.text();
}

bool PutFields::refuse_way(const Member& member, const PathTree::Branch& branch) {
  return refuse(ErrorCode::wrong_type,
                fmt::format("'{}' cannot be set: '{}' on its way is {} (byte {}), and only an object has fields",
                            printable(first_put(branch), 200), printable(branch.name, 100),
                            kind_of(document_->first(member.value)), *member.value));
}

}  // namespace millrace::transforms
