// SPDX-License-Identifier: Apache-2.0
// Transforms against a model that takes documents apart and puts them together again: what a document means afterwards
// is what the model says, whatever its spelling; and what nothing applies to keeps every byte.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "ops/transforms/number_order.h"
#include "tests/transforms/transform_testing.h"

namespace millrace::ops {
namespace {

using Model = nlohmann::json;

// Keys few enough to be met, each in spellings that say the same.
const std::vector<std::vector<std::string>> kKeys{{R"("a")", R"("\u0061")"},
                                                  {R"("b")", R"("\u0062")"},
                                                  {R"("c.d")", R"("c\u002ed")"},
                                                  {R"("\"")", R"("\u0022")"},
                                                  {R"("é")", R"("\u00e9")", R"("\u00E9")"},
                                                  {R"("")"}};
const std::vector<std::string> kNames{"a", "b", "c.d", "\"", "é", ""};
const std::vector<std::string> kScalars{"1",
                                        "1.0",
                                        "-0",
                                        "1e2",
                                        "12345678901234567890",
                                        "0.1000",
                                        "\"x\"",
                                        R"("\u0078\n\"")",
                                        "\"}{,:\"",
                                        "true",
                                        "false",
                                        "null",
                                        "\"\"",
                                        "[]",
                                        "{}"};

std::string blanks() { return *rc::gen::element<std::string>("", "", "", " ", "\n", "\t \r"); }

std::string document(int depth) {
  const int kind = depth == 0 ? 0 : *rc::gen::inRange(0, 4);
  if (kind == 0) return *rc::gen::elementOf(kScalars);
  const int count = *rc::gen::inRange(0, 4);
  std::string text = kind == 1 ? "[" : "{";
  for (int i = 0; i < count; ++i) {
    if (i != 0) text += ",";
    text += blanks();
    if (kind != 1) text += *rc::gen::elementOf(*rc::gen::elementOf(kKeys)) + blanks() + ":" + blanks();
    text += document(depth - 1) + blanks();
  }
  return text + blanks() + (kind == 1 ? "]" : "}");
}
std::string object() {
  for (;;) {
    std::string text = document(4);
    if (text.starts_with('{')) return blanks() + text + blanks();
  }
}

FieldPath some_path() {
  FieldPath path;
  const int size = *rc::gen::inRange(1, 4);
  for (int i = 0; i < size; ++i) path.names.push_back(*rc::gen::elementOf(kNames));
  return path;
}

Model* find(Model& document, const std::vector<std::string>& names) {
  Model* at = &document;
  for (const std::string& name : names) {
    if (!at->is_object() || !at->contains(name)) return nullptr;
    at = &(*at)[name];
  }
  return at;
}

std::optional<Model> set_in(Model document, const FieldPath& path, const Model& value, SetWhen when) {
  const bool exists = find(document, path.names) != nullptr;
  if ((when == SetWhen::key_exists && !exists) || (when == SetWhen::key_not_exists && exists)) return document;
  Model* at = &document;
  for (const std::string& name : path.names) {
    if (!at->is_object()) return std::nullopt;
    if (!at->contains(name)) (*at)[name] = Model::object();
    at = &(*at)[name];
  }
  *at = value;
  return document;
}

Model delete_from(Model document, FieldPath path) {
  const std::string last = path.names.back();
  path.names.pop_back();
  Model* parent = find(document, path.names);
  if (parent != nullptr && parent->is_object()) parent->erase(last);
  return document;
}

/// What an object keeps of the paths, by the names from `depth` on.
Model project(const Model& document, const std::vector<FieldPath>& paths, std::size_t depth) {
  Model kept = Model::object();
  for (const auto& [key, value] : document.items()) {
    std::vector<FieldPath> below;
    bool whole = false;
    for (const FieldPath& path : paths) {
      if (path.names[depth] != key) continue;
      whole = whole || path.names.size() == depth + 1;
      below.push_back(path);
    }
    if (whole) {
      kept[key] = value;
    } else if (!below.empty() && value.is_object()) {
      kept[key] = project(value, below, depth + 1);
    }
  }
  return kept;
}

void flatten(const Model& document, const std::string& prefix, Model& out) {
  for (const auto& [key, value] : document.items()) {
    if (value.is_object() && !value.empty()) {
      flatten(value, prefix + key + "/", out);
    } else {
      out[prefix + key] = value;
    }
  }
}

Model meaning(const std::string& text) {
  Model parsed = Model::parse(text, nullptr, false);
  RC_ASSERT(!parsed.is_discarded());
  return parsed;
}

/// What a document becomes, which is never longer than it is said to be.
std::string made_by(std::vector<TransformSpec> list, const std::string& text) {
  Bench bench(std::move(list));
  std::string made = bench(text);
  RC_ASSERT(made.starts_with('!') || made.size() <= bench.program().grown(text.size()));
  return made;
}

RC_GTEST_PROP(TransformModel, Set, ()) {
  const std::string text = *rc::gen::inRange(0, 8) == 0 ? document(2) : object();
  const FieldPath path = some_path();
  const std::string value = document(1);
  const auto when = *rc::gen::element(SetWhen::always, SetWhen::key_exists, SetWhen::key_not_exists);
  const std::string made = made_by({UpdateFields{{{path, {FieldValue::Computed::none, value}, when}}}}, text);
  const auto expected = set_in(meaning(text), path, meaning(value), when);
  RC_ASSERT(expected.has_value() != made.starts_with("!wrong_type"));
  if (expected) RC_ASSERT(meaning(made).dump() == (*expected).dump());
  if (when == SetWhen::key_exists && expected == meaning(text) && !made.starts_with('!')) {
    Model parsed = meaning(text);
    if (find(parsed, path.names) == nullptr) RC_ASSERT(made == text);
  }
}

RC_GTEST_PROP(TransformModel, SetSeveralThenDeleteThemIsWhatCame, ()) {
  const std::string text = object();
  std::vector<FieldSetting> settings;
  std::vector<FieldPath> added;
  const int count = *rc::gen::inRange(1, 4);
  for (int i = 0; i < count; ++i) {
    added.push_back({{"new" + std::to_string(i)}});
    settings.push_back({added.back(), {FieldValue::Computed::none, document(1)}, SetWhen::key_not_exists});
  }
  RC_ASSERT(Bench({UpdateFields{settings}, DeleteFields{added}})(text) == text);
}

RC_GTEST_PROP(TransformModel, Delete, ()) {
  const std::string text = document(4);
  const FieldPath path = some_path();
  const std::string made = Bench({DeleteFields{{path}}})(text);
  RC_ASSERT(meaning(made).dump() == delete_from(meaning(text), path).dump());
}

RC_GTEST_PROP(TransformModel, ProjectAndFilterFieldsAgree, ()) {
  const std::string text = object();
  std::vector<FieldPath> paths{some_path(), some_path()};
  const ProjectFields spec{paths};
  if (!TransformProgram::check(spec)) return;
  const std::string made = Bench({spec})(text);
  RC_ASSERT(meaning(made).dump() == project(meaning(text), paths, 0).dump());
  RC_ASSERT(Bench({FilterFields{{}, paths, {}, true}})(text) == made);
}

RC_GTEST_PROP(TransformModel, Rename, ()) {
  const std::string text = object();
  const FieldPath path = some_path();
  const std::string name = *rc::gen::element<std::string>("z", "b\n", "a", "a long name\t");
  if (path.names.back() == name) return;
  const std::string made = made_by({RenameFields{{{path, name}}}}, text);
  Model expected = meaning(text);
  const std::vector<std::string> above(path.names.begin(), path.names.end() - 1);
  Model* parent = find(expected, above);
  if (parent == nullptr || !parent->is_object() || !parent->contains(path.names.back())) {
    RC_ASSERT(made == text);
    return;
  }
  (*parent)[name] = (*parent)[path.names.back()];
  parent->erase(path.names.back());
  RC_ASSERT(meaning(made).dump() == expected.dump());
}

/// Objects under one key again and again, in each other: all but the last of each are shadowed.
std::string shadows(int depth) {
  if (depth == 0) return "1";
  std::string text = "{";
  const int count = *rc::gen::inRange(0, 5);
  for (int i = 0; i < count; ++i) {
    if (i != 0) text += ",";
    text += *rc::gen::elementOf(kKeys[static_cast<std::size_t>(*rc::gen::inRange(0, 2))]) + ":" + shadows(depth - 1);
  }
  return text + "}";
}

RC_GTEST_PROP(TransformModel, ShadowedObjectsMakeNoDocumentLonger, ()) {
  const std::string text = shadows(3);
  const std::string name(static_cast<std::size_t>(*rc::gen::inRange(1, 40)), '\1');
  const std::vector<FieldPath> all{{{"a", "a"}}, {{"a", "b"}}, {{"b", "a", "a"}}};
  RenameFields rename;
  UpdateFields update;
  for (const FieldPath& one : all) {
    if (*rc::gen::arbitrary<bool>()) rename.fields.emplace_back(one, name + std::to_string(rename.fields.size()));
    const auto when = *rc::gen::element(SetWhen::always, SetWhen::key_exists, SetWhen::key_not_exists);
    if (*rc::gen::arbitrary<bool>()) update.fields.push_back({one, {FieldValue::Computed::none, "\"a value\""}, when});
  }
  if (!rename.fields.empty()) std::ignore = made_by({rename}, text);
  if (!update.fields.empty()) std::ignore = made_by({update}, text);
}

RC_GTEST_PROP(TransformModel, Flatten, ()) {
  const std::string text = object();
  const std::string made = made_by({FlattenFields{"/", 0}}, text);
  if (made.starts_with("!duplicate_key")) return;
  Model expected = Model::object();
  flatten(meaning(text), "", expected);
  RC_ASSERT(meaning(made).dump() == expected.dump());
}

RC_GTEST_PROP(TransformModel, Unwrap, ()) {
  const std::string text = document(4);
  const FieldPath path = some_path();
  const std::string made = Bench({UnwrapEnvelope{path}})(text);
  Model parsed = meaning(text);
  const Model* found = find(parsed, path.names);
  if (found == nullptr) {
    RC_ASSERT(made == text);
  } else {
    RC_ASSERT(text.find(made) != std::string::npos);
    RC_ASSERT(meaning(made).dump() == (*found).dump());
  }
}

RC_GTEST_PROP(TransformModel, Where, ()) {
  const std::string text = document(4);
  const FieldPath path = some_path();
  std::string quoted;
  for (const std::string& name : path.names) quoted += (quoted.empty() ? "" : ".") + Model(name).dump();
  const std::string literal = *rc::gen::element<std::string>("1", "1.00", "100", "\"x\"", "true", "null", "-0.0");
  Model parsed = meaning(text);
  const Model* found = find(parsed, path.names);
  const bool equal = found != nullptr && *found == meaning(literal);
  RC_ASSERT((Bench({KeepWhere{quoted + " == " + literal}})(text) == text) == equal);
  RC_ASSERT((Bench({KeepWhere{quoted + " != " + literal}})(text) == "-") == equal);
  RC_ASSERT((Bench({KeepWhere{"exists(" + quoted + ")"}})(text) == text) == (found != nullptr));
}

RC_GTEST_PROP(NumberOrder, AgreesWithDoublesWhereTheyAreExact, ()) {
  const auto some = [] {
    std::string text = std::to_string(*rc::gen::inRange(-2000, 2000));
    if (*rc::gen::arbitrary<bool>()) text += *rc::gen::element<std::string>(".5", ".25", ".0", ".50000");
    if (*rc::gen::arbitrary<bool>()) text += *rc::gen::element<std::string>("e2", "E+1", "e0");
    return text;
  };
  const std::string a = some();
  const std::string b = some();
  RC_ASSERT((transforms::compare_numbers(a, b) < 0) == (std::stod(a) < std::stod(b)));
  RC_ASSERT((transforms::compare_numbers(a, b) == 0) == (std::stod(a) == std::stod(b)));
}

}  // namespace
}  // namespace millrace::ops
