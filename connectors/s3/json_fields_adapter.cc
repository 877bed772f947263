// SPDX-License-Identifier: Apache-2.0
// Strict JSON through nlohmann/json, whose exceptions end here.
#include "connectors/s3/json_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "connectors/s3/base64.h"
#include "connectors/s3/manifest.h"
#include "connectors/s3/rolling_hash.h"
#include "millrace/base/printable.h"

namespace millrace::s3_source {
namespace {

/// Junk of brackets would cost the parser far more memory than its own length.
bool nested_too_deep(std::string_view json) {
  constexpr int kDeepest = 16;  // the grammars need 4
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kDeepest) return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

std::string_view kind_of(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null:
      return "null";
    case Json::value_t::object:
      return "an object";
    case Json::value_t::array:
      return "an array";
    case Json::value_t::string:
      return "a string";
    case Json::value_t::boolean:
      return "a boolean";
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
    case Json::value_t::number_float:
      return "a number";
    default:
      return "something else";
  }
}

std::string shown(const Json& value) {
  if (value.is_structured()) return std::string(kind_of(value));
  const std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  return fmt::format("{} ({})", kind_of(value), printable(text, 60));
}

}  // namespace

Error wrong_field(std::string_view field, std::string_view why) {
  return Error::fatal(ErrorCode::manifest, fmt::format("field '{}' {}", field, why));
}

Result<Json> parse_json(std::string_view text, std::string_view document) {
  if (nested_too_deep(text)) {
    return fail(Error::fatal(ErrorCode::manifest, fmt::format("it is not {}: nested too deep", document)));
  }
  try {
    std::vector<std::set<std::string>> keys;  // of the objects that are open
    std::string twice;
    Json tree = Json::parse(text, [&](int, Json::parse_event_t event, Json& parsed) {
      if (event == Json::parse_event_t::object_start) keys.emplace_back();
      if (event == Json::parse_event_t::object_end) keys.pop_back();
      if (event == Json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second && twice.empty()) {
        twice = parsed.get<std::string>();
      }
      return true;
    });
    if (!twice.empty()) return fail(wrong_field(printable(twice, 100), "stands there twice in one object"));
    return tree;
  } catch (const Json::exception& problem) {
    return fail(
        Error::fatal(ErrorCode::manifest, fmt::format("it is not valid JSON: {}", printable(problem.what(), 300))));
  }
}

Json stored_json(const StoredRecord& record) {
  return {{"name", record.name}, {"bytes", record.bytes}, {"hash", to_hex(record.hash)}};
}

Fields::Fields(const Json& json, std::string path, std::string_view document) : json_(json), path_(std::move(path)) {
  if (json_.is_object()) return;
  error_ = wrong_field(path_.empty() ? document : path_, fmt::format("is {}, not an object", kind_of(json_)));
}

void Fields::number(std::string_view name, std::uint64_t& out, std::uint64_t most) {
  const Json* value = find(name);
  if (value == nullptr) return;
  if (!value->is_number_unsigned()) return set(name, fmt::format("is {}, not an integer from 0", shown(*value)));
  out = value->get<std::uint64_t>();
  if (out > most) set(name, fmt::format("is {}; at most {} has a meaning", out, most));
}

void Fields::integer(std::string_view name, std::int64_t& out) {
  const Json* value = find(name);
  if (value == nullptr) return;
  if (!value->is_number_integer() || (value->is_number_unsigned() && value->get<std::uint64_t>() > INT64_MAX))
    return set(name, fmt::format("is {}, not an integer of 64 bits", shown(*value)));
  out = value->get<std::int64_t>();
}

void Fields::flag(std::string_view name, bool& out) {
  const Json* value = find(name);
  if (value == nullptr) return;
  if (!value->is_boolean()) return set(name, fmt::format("is {}, not true or false", shown(*value)));
  out = value->get<bool>();
}

void Fields::text(std::string_view name, std::string& out) {
  if (const Json* value = find(name)) text_of(*value, full(name), out);
}

void Fields::text_if_set(std::string_view name, std::string& out) {
  if (!has(name)) return;
  text(name, out);
  if (!error_ && out.empty()) set(name, "is empty; it is left out where it is not set");
}

void Fields::bytes(std::string_view name, std::string& out) {
  if (const Json* value = find(name)) bytes_of(*value, full(name), out);
}

void Fields::byte_strings(std::string_view name, std::vector<std::string>& out) {
  each(name, [&](const Json& item, const std::string& path) { bytes_of(item, path, out.emplace_back()); });
}

void Fields::hash(std::string_view name, std::uint64_t& out) {
  std::string digits;
  text(name, digits);
  if (error_) return;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), out, 16);
  if (digits != to_hex(out) || problem != std::errc() || end != digits.data() + digits.size()) {
    set(name, fmt::format("is '{}', not 16 lower-case hex digits", printable(digits, 40)));
  }
}

void Fields::time(std::string_view name, UnixMicros& out) {
  std::string digits;
  text(name, digits);
  if (error_) return;
  const auto parsed = parse_time(digits);
  if (!parsed) {
    return set(name, fmt::format("is '{}', not a time like 2026-07-01T12:00:00.000000Z", printable(digits, 40)));
  }
  out = *parsed;
}

void Fields::stored(StoredRecord& out) {
  text("name", out.name);
  number("bytes", out.bytes);
  hash("hash", out.hash);
  if (!error_ && out.name.find('/') != std::string::npos) {
    set("name",
        fmt::format("is '{}'; it stands beside the manifest, so no slash has a meaning", printable(out.name, 100)));
  }
}

void Fields::numbers(std::string_view name, std::map<std::string, std::uint64_t>& out) {
  const Json* value = find(name);
  if (value == nullptr) return;
  if (!value->is_object()) return set(name, fmt::format("is {}, not an object", shown(*value)));
  for (const auto& [key, count] : value->items()) {
    if (!count.is_number_unsigned()) {
      return set(name, fmt::format("has {} under '{}', not an integer from 0", shown(count), printable(key, 60)));
    }
    out[key] = count.get<std::uint64_t>();
  }
}

Result<void> Fields::done() {
  if (error_) return fail(*std::move(error_));
  for (const auto& [name, value] : json_.items()) {
    if (std::ranges::find(asked_, name) == asked_.end()) {
      return fail(wrong_field(full(printable(name, 100)), "is unknown to schema 1"));
    }
  }
  return {};
}

const Json* Fields::find(std::string_view name) {
  if (error_) return nullptr;
  asked_.emplace_back(name);
  const auto found = json_.find(name);
  if (found == json_.end()) {
    set(name, "is missing");
    return nullptr;
  }
  return &*found;
}

const Json* Fields::array(std::string_view name) {
  const Json* value = find(name);
  if (value == nullptr || value->is_array()) return value;
  set(name, fmt::format("is {}, not an array", shown(*value)));
  return nullptr;
}

void Fields::text_of(const Json& value, const std::string& path, std::string& out) {
  if (!value.is_string()) return keep(wrong_field(path, fmt::format("is {}, not a string", shown(value))));
  out = value.get<std::string>();
}

void Fields::bytes_of(const Json& value, const std::string& path, std::string& out) {
  if (!value.is_object()) return text_of(value, path, out);
  Fields inner(value, path);
  std::string encoded;
  inner.text("base64", encoded);
  if (auto done = inner.done(); !done) return keep(std::move(done).error());
  auto decoded = from_base64(encoded);
  if (!decoded) return keep(wrong_field(path, "holds what is not base64"));
  out = *std::move(decoded);
}

std::string Fields::full(std::string_view name) const {
  return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
}

std::string Fields::item_path(std::string_view name, std::size_t index) const {
  return fmt::format("{}[{}]", full(name), index);
}

}  // namespace millrace::s3_source
