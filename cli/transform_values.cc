// SPDX-License-Identifier: Apache-2.0
#include "cli/transform_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "millrace/base/json_string.h"
#include "millrace/base/printable.h"
#include "millrace/base/utf8.h"
#include "millrace/decode/json_checker.h"
#include "millrace/ops/transforms.h"

namespace millrace::cli {
namespace {

using Kind = ConfigSection::Kind;
using Computed = ops::FieldValue::Computed;

constexpr std::array<std::pair<std::string_view, Computed>, 12> kComputed{
    {{"date_time", Computed::date_time},
     {"timestamp_nanos", Computed::timestamp_nanos},
     {"timestamp_micros", Computed::timestamp_micros},
     {"timestamp_millis", Computed::timestamp_millis},
     {"timestamp_seconds", Computed::timestamp_seconds},
     {"uuid_v4", Computed::uuid_v4},
     {"uuid_v7", Computed::uuid_v7},
     {"record_date_time", Computed::record_date_time},
     {"record_timestamp_nanos", Computed::record_timestamp_nanos},
     {"record_timestamp_micros", Computed::record_timestamp_micros},
     {"record_timestamp_millis", Computed::record_timestamp_millis},
     {"record_timestamp_seconds", Computed::record_timestamp_seconds}}};

const std::vector<std::string> kKeyPatterns{"exact", "starts_with", "ends_with", "contains", "regex"};
const std::vector<std::string> kValuePatterns{"equals",     "contains",  "regex",       "greater_than", "less_than",
                                              "between",    "is_null",   "is_not_null", "is_string",    "is_number",
                                              "is_boolean", "is_object", "is_array"};
/// How many of them take something to compare with; the others stand alone.
constexpr std::size_t kComparing = 6;

bool is_json_number(std::string_view text) {
  if (text.empty() || !(text.front() == '-' || (text.front() >= '0' && text.front() <= '9'))) return false;
  JsonChecker checker;
  decode::Json json;
  return checker.check(text, 0, json) && text.find_first_of(" \t\r\n") == std::string_view::npos;
}

/// 007, +1, .5, 1. and the like: a number to people and to YAML, none to JSON.
bool looks_like_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && stop == text.data() + text.size() && std::isfinite(number);
}

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
  if (text == "true" || text == "false" || is_json_number(text)) return out.append(text);
  if (looks_like_number(text)) {
    problems.add(at.where(),
                 fmt::format("{}: '{}' is no number as JSON spells it; write it so, or in quotes for a string",
                             at.path(), printable(text, 80)));
    return;
  }
  append_string(at, text, out, problems);
}

void expect(const ConfigSection& at, std::string_view what, ConfigProblems& problems) {
  problems.add(at.where(), fmt::format("{}: expects {}", at.path(), what));
}

std::string read_number(const ConfigSection& at, ConfigProblems& problems) {
  if (at.kind() == Kind::scalar && !at.quoted() && is_json_number(at.text())) return at.text();
  expect(at, "a number as JSON spells it", problems);
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
  std::vector<std::string> names;
  names.reserve(kComputed.size());
  for (const auto& [name, computed] : kComputed) names.emplace_back(name);
  return names;
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
    const std::size_t choice = choice_of(at.child(key), computed_names(), problems);
    if (choice < kComputed.size()) value.computed = kComputed[choice].second;
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
