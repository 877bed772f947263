// SPDX-License-Identifier: Apache-2.0
#include "cli/transforms_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "cli/transform_values.h"
#include "millrace/base/printable.h"

namespace millrace::cli {
namespace {

using Kind = ConfigSection::Kind;
using Spec = ops::TransformSpec;

OptionDescription option(std::string name, std::string type, std::string meaning, std::string default_text = {},
                         std::string example = {}) {
  OptionDescription made;
  made.name = std::move(name);
  made.type = std::move(type);
  made.meaning = std::move(meaning);
  made.default_text = std::move(default_text);
  made.example = std::move(example);
  return made;
}
OptionDescription required(OptionDescription made) {
  made.required = true;
  return made;
}
OptionDescription section(std::string name, std::string meaning, std::vector<OptionDescription> nested,
                          std::string type = "section") {
  OptionDescription made = option(std::move(name), std::move(type), std::move(meaning));
  made.nested = std::move(nested);
  return made;
}

constexpr std::string_view kPath = "path";
constexpr std::string_view kPaths = "list of paths";

OptionDescription fields_to_set(bool conditions) {
  OptionDescription computed =
      option("computed", fmt::format("one of {}", fmt::join(computed_names(), "|")),
             "Made for each record: by the clock and by chance, or (record_...) from the record's own time, which is "
             "what it comes to again on a replay.");
  computed.choices = computed_names();
  std::vector<OptionDescription> keys{
      required(option("key", std::string(kPath), "The field. Objects on the way to it are made where they are absent.",
                      {}, "user.name")),
      required(section("value", "One of the two.",
                       {option("static", "any value", "As YAML; a number is spelled as it stands here."), computed},
                       "one section"))};
  if (conditions) {
    keys.push_back(option("condition", "one of always|key_exists|key_not_exists", "When it is set.", "always"));
    keys.back().choices = {"always", "key_exists", "key_not_exists"};
  }
  return required(section("fields", "What is set.", std::move(keys), "list of sections"));
}

OptionDescription patterns() {
  return section(
      "patterns",
      "A field meets one when it meets the key_pattern and the value_pattern, of which one may be left out.",
      {section("key_pattern", "One of these, of the field's name.",
               {option("exact", "string", "It is the name."), option("starts_with", "string", "The name begins so."),
                option("ends_with", "string", "The name ends so."), option("contains", "string", "It is in the name."),
                option("regex", "string", "RE2, met anywhere in the name.")},
               "one section"),
       section(
           "value_pattern",
           "One of these, or one of the words is_null, is_not_null, is_string, is_number, is_boolean, is_object, "
           "is_array.",
           {option("equals", "any value", "The same value; numbers by their worth."),
            option("contains", "string", "A string with this in it."),
            option("regex", "string", "A string that meets it (RE2, anywhere)."),
            option("greater_than", "number", "A larger number."), option("less_than", "number", "A smaller number."),
            option("between", "two numbers",
                   "A number that is neither smaller than the first nor larger than the "
                   "second.")},
           "one section or word")},
      "list of sections");
}

OptionDescription made_description() {
  OptionDescription all = section(
      "transforms",
      "What becomes of each JSON document between decoding and the sink: one key an item, done in the order written, "
      "as "
      "often as it is there. What none of them touches keeps its bytes. Without `decode` payloads are read as JSON.",
      {section("add_fields", "Sets fields; what stands there is replaced.", {fields_to_set(false)}),
       section("delete_fields", "Takes fields out.",
               {required(option("fields", std::string(kPaths), "Which.", {}, "[password, user.email]"))}),
       section("filter_fields", "Keeps some fields of an object and drops the others.",
               {option("at", std::string(kPath), "The object, where it is not the document.", {}, "user"),
                option("keep_fields", std::string(kPaths), "Stay whatever the patterns say."), patterns(),
                option("include_matching", "boolean", "Fields that meet a pattern stay; false: go.", "true")}),
       section("update_fields", "Sets fields, each on its condition.", {fields_to_set(true)}),
       section("unwrap_envelope", "The document becomes the value of one of its fields; one without it stays.",
               {required(option("field", std::string(kPath), "Which.", {}, "data"))}),
       section("filter", "Keeps the documents that meet an expression; the others are counted as filtered.",
               {required(option("where", "string", "Comparisons of a path with a literal, exists(path), and, or, not.",
                                {}, "total > 10 and status == \"paid\""))}),
       option("project", std::string(kPaths), "Keeps these fields and nothing else, in the order they came.", {},
              "[id, user.name]"),
       option("rename", "map", "Old path to new name, in the same object; a field that has the new name goes.", {},
              "{user.id: uid}"),
       section("flatten", "Puts the fields of inner objects into the document, their names joined. Arrays stay.",
               {option("separator", "string", "Stands between two names.", "."),
                option("depth", "integer", "How many levels are taken out.", "all")}),
       section("jq",
               "A program of jq 1.6, as a text or with its bound: each document becomes what it gives out, nothing or "
               "several. Numbers are spelled as jq spells them. It sees the document, and neither files nor the "
               "environment.",
               {required(option("program", "string", "The program.", {}, ".items[]")),
                option("max_outputs", "integer",
                       "Documents that it may give out for one record; more make it a bad record.", "10000")},
               "section or text")},
      "list of one-key sections");
  all.nested[8].nested[1].range = "at least 1";
  all.nested[8].nested[1].min = 1;
  all.nested[9].nested[1].range = "at least 1";
  all.nested[9].nested[1].min = 1;
  return all;
}

const OptionDescription& description_of(std::string_view name) {
  const auto& all = describe_transforms().nested;
  return *std::ranges::find(all, name, &OptionDescription::name);
}

/// Knows the keys of one transform's section.
bool check_section(const ConfigSection& at, const std::vector<OptionDescription>& options, ConfigProblems& problems) {
  const std::size_t before = problems.count();
  OptionReader::check_keys(at, options, problems,
                           {{"enabled", "a transform that is not wanted is left out; remove the key"}});
  if (problems.count() != before) return false;
  for (const OptionDescription& known : options) {
    if (known.required && !at.child(known.name).exists()) OptionReader::missing(at, known, problems);
  }
  return problems.count() == before;
}

std::vector<ops::FieldSetting> read_settings(const ConfigSection& at, const OptionDescription& fields,
                                             ConfigProblems& problems) {
  std::vector<ops::FieldSetting> settings;
  if (at.kind() != Kind::sequence) {
    problems.add(at.where(), fmt::format("{}: expects a list of sections with key and value", at.path()));
    return settings;
  }
  for (const ConfigSection& item : at.items()) {
    if (!check_section(item, fields.nested, problems)) continue;
    ops::FieldSetting setting;
    setting.key = read_path(item.child("key"), problems);
    setting.value = read_field_value(item.child("value"), problems);
    if (const ConfigSection condition = item.child("condition"); condition.exists()) {
      setting.condition =
          static_cast<ops::SetWhen>(choice_of(condition, {"always", "key_exists", "key_not_exists"}, problems));
    }
    settings.push_back(std::move(setting));
  }
  return settings;
}

Spec read_filter_fields(const ConfigSection& at, ConfigProblems& problems) {
  ops::FilterFields spec;
  if (const ConfigSection object = at.child("at"); object.exists()) spec.at = read_path(object, problems);
  if (const ConfigSection keep = at.child("keep_fields"); keep.exists()) spec.keep_fields = read_paths(keep, problems);
  if (const ConfigSection list = at.child("patterns"); list.exists()) {
    if (list.kind() != Kind::sequence) problems.add(list.where(), list.path() + ": expects a list of patterns");
    for (const ConfigSection& item : list.items()) spec.patterns.push_back(read_pattern(item, problems));
  }
  if (const ConfigSection include = at.child("include_matching"); include.exists()) {
    OptionReader::read(include, description_of("filter_fields").nested[3], {}, spec.include_matching, problems);
  }
  return spec;
}

Spec read_rename(const ConfigSection& at, ConfigProblems& problems) {
  ops::RenameFields spec;
  if (at.kind() != Kind::mapping) {
    problems.add(at.where(), at.path() + ": expects a section of old paths with new names");
    return spec;
  }
  for (const std::string& key : at.keys()) {
    const ConfigSection given = at.child(key);
    auto path = FieldPath::parse(key);
    if (!path) {
      problems.add(given.key_where(), fmt::format("{}: {}", at.path(), path.error().message()));
      continue;
    }
    // Read as a path, so that a dot that would move the field is not taken for a part of its name.
    const std::size_t before = problems.count();
    const FieldPath name = given.kind() == Kind::scalar ? read_path(given, problems) : FieldPath();
    if (problems.count() != before) continue;
    if (name.names.size() != 1) {
      problems.add(
          given.where(),
          fmt::format("{}.{}: expects the new name alone, since the field stays in its object; a dot in a name "
                      "is written `\\.`",
                      at.path(), printable(key)));
      continue;
    }
    spec.fields.emplace_back(*std::move(path), name.names.front());
  }
  return spec;
}

Spec read_flatten(const ConfigSection& at, ConfigProblems& problems) {
  ops::FlattenFields spec;
  if (const ConfigSection separator = at.child("separator"); separator.exists()) {
    spec.separator = read_text(separator, problems);
  }
  if (const ConfigSection depth = at.child("depth"); depth.exists()) {
    std::uint64_t levels = 0;
    OptionNotes notes;
    notes.min = 1;
    notes.max = 1024;
    OptionReader::read(depth, description_of("flatten").nested[1], notes, levels, problems);
    spec.depth = static_cast<std::uint32_t>(levels);
  }
  return spec;
}

std::optional<Spec> read_jq(const ConfigSection& at, const OptionDescription& known, ConfigProblems& problems) {
  ops::JqFilter spec;
  if (at.kind() != Kind::mapping) {
    spec.program = read_text(at, problems);
    return spec;
  }
  if (!check_section(at, known.nested, problems)) return std::nullopt;
  spec.program = read_text(at.child("program"), problems);
  if (const ConfigSection most = at.child("max_outputs"); most.exists()) {
    OptionNotes notes;
    notes.min = 1;
    OptionReader::read(most, known.nested[1], notes, spec.max_outputs, problems);
  }
  return spec;
}

std::optional<Spec> read_one(const std::string& name, const ConfigSection& at, ConfigProblems& problems) {
  const OptionDescription& known = description_of(name);
  if (known.type == "section" && !check_section(at, known.nested, problems)) return std::nullopt;
  if (name == "add_fields") return ops::AddFields{read_settings(at.child("fields"), known.nested[0], problems)};
  if (name == "update_fields") return ops::UpdateFields{read_settings(at.child("fields"), known.nested[0], problems)};
  if (name == "delete_fields") return ops::DeleteFields{read_paths(at.child("fields"), problems)};
  if (name == "filter_fields") return read_filter_fields(at, problems);
  if (name == "unwrap_envelope") return ops::UnwrapEnvelope{read_path(at.child("field"), problems)};
  if (name == "filter") return ops::KeepWhere{read_text(at.child("where"), problems)};
  if (name == "project") return ops::ProjectFields{read_paths(at, problems)};
  if (name == "rename") return read_rename(at, problems);
  if (name == "flatten") return read_flatten(at, problems);
  return read_jq(at, known, problems);
}

/// The key of an item; empty after a problem was added.
std::string name_of(const ConfigSection& item, ConfigProblems& problems) {
  std::vector<std::string> known;
  for (const OptionDescription& one : describe_transforms().nested) known.push_back(one.name);
  const std::vector<std::string> keys = item.keys();
  if (std::ranges::find(keys, "route") != keys.end()) {
    problems.add(item.child("route").key_where(),
                 item.path() +
                     ".route: chooses among several sinks, and this version of millrace writes to one; a key "
                     "template with {field.NAME} keeps records apart");
    return {};
  }
  return only_key_of(item, known, problems);
}

}  // namespace

const OptionDescription& describe_transforms() {
  static const OptionDescription all = made_description();
  return all;
}

ops::TransformProgram read_transforms(const ConfigSection& at, const ConfigSection& decode_section,
                                      DecodeOptions& decode, ConfigProblems& problems) {
  const std::size_t before = problems.count();
  using Decode = DecodeOptions::Kind;
  if (decode.kind == Decode::none && !decode_section.exists()) decode.kind = Decode::json;
  if (decode.kind == Decode::raw || decode.kind == Decode::text) {
    problems.add(decode_section.where(),
                 fmt::format("decode.{}: transforms are for JSON; write `decode: {{json: {{}}}}`, or leave decode out",
                             decode.kind == Decode::raw ? "raw" : "text"));
  }
  std::vector<Spec> list;
  if (at.kind() != Kind::sequence) {
    problems.add(at.where(), fmt::format("{}: expects a list, each item one transform", at.path()));
    return {};
  }
  for (const ConfigSection& item : at.items()) {
    const std::string name = name_of(item, problems);
    if (name.empty()) continue;
    const std::size_t so_far = problems.count();
    const ConfigSection body = item.child(name);
    auto spec = read_one(name, body, problems);
    if (!spec || problems.count() != so_far) continue;
    if (auto checked = ops::TransformProgram::check(*spec); !checked) {
      problems.add(body.where(), fmt::format("{}: {}", body.path(), checked.error().message()));
      continue;
    }
    list.push_back(*std::move(spec));
  }
  if (problems.count() != before) return {};
  auto program = ops::TransformProgram::make(std::move(list));
  if (program) return *std::move(program);
  problems.add(at.where(), fmt::format("{}: {}", at.path(), program.error().message()));
  return {};
}

}  // namespace millrace::cli
