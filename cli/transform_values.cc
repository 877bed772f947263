// SPDX-License-Identifier: Apache-2.0
#include "cli/transform_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/yaml_scalar.h"
#include "millrace/base/json_string.h"
#include "millrace/base/printable.h"
#include "millrace/base/utf8.h"
#include "millrace/ops/transforms.h"

namespace millrace::cli {
namespace {

using Kind = ConfigSection::Kind;

const std::vector<std::string> kKeyPatterns{"exact", "starts_with", "ends_with", "contains", "regex"};
const std::vector<std::string> kValuePatterns{"equals",     "contains",  "regex",       "greater_than", "less_than",
                                              "between",    "is_null",   "is_not_null", "is_string",    "is_number",
                                              "is_boolean", "is_object", "is_array"};
/// How many of them take something to compare with; the others stand alone.
constexpr std::size_t kComparing = 6;

void append_string(const ConfigSection& at, std::string_view text, ByteBuffer& out, ConfigProblems& problems) {
  if (first_invalid_utf8(text) != std::string_view::npos) {
    problems.add(at.where(), fmt::format("{}: is not UTF-8", at.path()));
    return;
  }
  append_json_string(out, text);
}

void append_value(const ConfigSection& at, ByteBuffer& out, ConfigProblems& problems) {
  bool comma = false;
  const auto separate = [&] {
    if (std::exchange(comma, true)) out.push_back(',');
  };
  switch (at.kind()) {
    case Kind::missing:
    case Kind::null:
      return out.append("null");
    case Kind::sequence:
      out.push_back('[');
      for (const ConfigSection& item : at.items()) {
        separate();
        append_value(item, out, problems);
      }
      return out.push_back(']');
    case Kind::mapping:
      out.push_back('{');
      for (const std::string& key : at.keys()) {
        separate();
        append_string(at, key, out, problems);
        out.push_back(':');
        append_value(at.child(key), out, problems);
      }
      return out.push_back('}');
    case Kind::scalar:
      break;
  }
  const std::string text = at.text();
  if (at.quoted()) return append_string(at, text, out, problems);
  const YamlScalar read = read_plain_scalar(text);
  if (read.kind == YamlScalar::Kind::text) return append_string(at, text, out, problems);
  if (read.kind != YamlScalar::Kind::refused) return out.append(read.json);
  problems.add(at.where(), fmt::format("{}: '{}' {}", at.path(), printable(text, 80), read.why));
}

void expect(const ConfigSection& at, std::string_view what, ConfigProblems& problems) {
  problems.add(at.where(), fmt::format("{}: expects {}", at.path(), what));
}

std::string read_number(const ConfigSection& at, ConfigProblems& problems) {
  if (at.kind() == Kind::scalar && !at.quoted()) {
    YamlScalar read = read_plain_scalar(at.text());
    if (read.kind == YamlScalar::Kind::number) return std::move(read.json);
  }
  expect(at, "a number", problems);
  return "0";
}

ops::TextPattern read_key_pattern(const ConfigSection& at, ConfigProblems& problems) {
  ops::TextPattern pattern;
  const std::string key = only_key_of(at, kKeyPatterns, problems);
  if (key.empty()) return pattern;
  pattern.kind = static_cast<ops::TextPattern::Kind>(std::ranges::find(kKeyPatterns, key) - kKeyPatterns.begin());
  pattern.text = read_text(at.child(key), problems);
  return pattern;
}

ops::ValuePattern read_value_pattern(const ConfigSection& at, ConfigProblems& problems) {
  using Value = ops::ValuePattern::Kind;
  ops::ValuePattern pattern;
  if (at.kind() == Kind::scalar) {
    const std::size_t choice = choice_of(at, {kValuePatterns.begin() + kComparing, kValuePatterns.end()}, problems);
    if (choice + kComparing < kValuePatterns.size()) pattern.kind = static_cast<Value>(choice + kComparing);
    return pattern;
  }
  const std::string key = only_key_of(at, {kValuePatterns.begin(), kValuePatterns.begin() + kComparing}, problems);
  if (key.empty()) return pattern;
  const ConfigSection given = at.child(key);
  pattern.kind = static_cast<Value>(std::ranges::find(kValuePatterns, key) - kValuePatterns.begin());
  switch (pattern.kind) {
    case Value::equals:
      pattern.text = read_json_value(given, problems);
      break;
    case Value::contains:
    case Value::regex:
      pattern.text = read_text(given, problems);
      break;
    case Value::between: {
      const std::vector<ConfigSection> ends = given.items();
      if (given.kind() != Kind::sequence || ends.size() != 2) {
        expect(given, "two numbers, [least, most]; both count", problems);
        break;
      }
      pattern.text = read_number(ends[0], problems);
      pattern.above = read_number(ends[1], problems);
      break;
    }
    default:
      pattern.text = read_number(given, problems);
      break;
  }
  return pattern;
}

}  // namespace

std::vector<std::string> computed_names() {
  const auto names = ops::computed_names();
  return {names.begin(), names.end()};
}

std::string read_text(const ConfigSection& at, ConfigProblems& problems) {
  if (at.kind() == Kind::scalar) return at.text();
  expect(at, "a text", problems);
  return {};
}

std::size_t choice_of(const ConfigSection& at, const std::vector<std::string>& known, ConfigProblems& problems) {
  const std::string text = at.kind() == Kind::scalar ? at.text() : "";
  const auto found = std::ranges::find(known, text);
  if (found == known.end()) {
    const auto near = nearest_name(text, known);
    problems.add(at.where(), fmt::format("{}: expects one of {}{}", at.path(), fmt::join(known, "|"),
                                         near ? fmt::format("; did you mean '{}'?", *near) : ""));
  }
  return static_cast<std::size_t>(found - known.begin());
}

std::string only_key_of(const ConfigSection& at, const std::vector<std::string>& known, ConfigProblems& problems) {
  const std::vector<std::string> keys = at.keys();
  if (at.kind() != Kind::mapping || keys.size() != 1) {
    expect(at, fmt::format("exactly one of {}", fmt::join(known, ", ")), problems);
    return {};
  }
  if (std::ranges::find(known, keys[0]) != known.end()) return keys[0];
  const auto near = nearest_name(keys[0], known);
  problems.add(at.child(keys[0]).key_where(), fmt::format("{}.{}: unknown; {}", at.path(), printable(keys[0]),
                                                          near ? fmt::format("did you mean '{}'?", *near)
                                                               : fmt::format("known are {}", fmt::join(known, ", "))));
  return {};
}

FieldPath read_path(const ConfigSection& at, ConfigProblems& problems) {
  if (at.kind() == Kind::scalar) {
    auto path = FieldPath::parse(at.text());
    if (path) return *std::move(path);
    problems.add(at.where(), fmt::format("{}: {}", at.path(), path.error().message()));
    return {{"?"}};
  }
  const std::vector<ConfigSection> items = at.items();
  if (at.kind() != Kind::sequence || items.empty()) {
    expect(at, R"(a path: names with dots between them (`\.` for a dot in a name), or a list of names)", problems);
    return {{"?"}};
  }
  FieldPath path;
  for (const ConfigSection& item : items) {
    path.names.push_back(read_text(item, problems));
    if (first_invalid_utf8(path.names.back()) != std::string_view::npos) expect(item, "a name in UTF-8", problems);
  }
  return path;
}

std::vector<FieldPath> read_paths(const ConfigSection& at, ConfigProblems& problems) {
  std::vector<FieldPath> paths;
  if (at.kind() != Kind::sequence) {
    expect(at, "a list of paths", problems);
    return paths;
  }
  for (const ConfigSection& item : at.items()) paths.push_back(read_path(item, problems));
  return paths;
}

std::string read_json_value(const ConfigSection& at, ConfigProblems& problems) {
  ByteBuffer out;
  append_value(at, out, problems);
  return std::string(out.view());
}

ops::FieldValue read_field_value(const ConfigSection& at, ConfigProblems& problems) {
  ops::FieldValue value;
  const std::string key = only_key_of(at, {"static", "computed"}, problems);
  if (key == "static") value.json = read_json_value(at.child(key), problems);
  if (key == "computed") {
    const std::vector<std::string> names = computed_names();
    const std::size_t choice = choice_of(at.child(key), names, problems);
    if (choice < names.size()) value.computed = static_cast<ops::FieldValue::Computed>(choice + 1);
  }
  return value;
}

ops::FieldPattern read_pattern(const ConfigSection& at, ConfigProblems& problems) {
  ops::FieldPattern pattern;
  const std::vector<std::string> known{"key_pattern", "value_pattern"};
  if (at.kind() != Kind::mapping) {
    expect(at, "a section with key_pattern, value_pattern or both", problems);
    return pattern;
  }
  for (const std::string& key : at.keys()) {
    if (key == "key_pattern") {
      pattern.key = read_key_pattern(at.child(key), problems);
    } else if (key == "value_pattern") {
      pattern.value = read_value_pattern(at.child(key), problems);
    } else {
      problems.add(at.child(key).key_where(), fmt::format("{}.{}: unknown key; known keys are {}", at.path(),
                                                          printable(key), fmt::join(known, ", ")));
    }
  }
  return pattern;
}

}  // namespace millrace::cli
