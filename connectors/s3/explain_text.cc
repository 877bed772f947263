// SPDX-License-Identifier: Apache-2.0
// An explanation as people read it, and as programs do.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "connectors/s3/explain.h"
#include "millrace/base/figures.h"
#include "millrace/base/printable.h"
#include "millrace/encode/record_router.h"

namespace millrace::s3_sink {
namespace {

using Json = nlohmann::ordered_json;

// A person reads so many; --format json has all.
constexpr std::size_t kMostShown = 40;

std::string key_text(const std::string& key, const std::string& why_not) {
  return why_not.empty() ? printable_key(key) : "none: " + why_not;
}

void add_records(const Explanation& e, std::string& text) {
  if (!e.has_records) return;
  text += "\nthe records given\n";
  const std::size_t shown = std::min(e.records.size(), kMostShown);
  for (std::size_t i = 0; i < shown; ++i) {
    const Explanation::Group& group = e.records[i];
    text += fmt::format("  {}, the first in line {}\n    {}\n", of_these(group.records, "record"), group.first,
                        key_text(group.key, group.why_not));
  }
  if (shown < e.records.size()) text += fmt::format("  and {} more\n", of_these(e.records.size() - shown, "file"));
  for (const auto& [reason, count] : e.fallbacks) {
    text += fmt::format("  null_fallback stands for {}: {} {}\n", of_these(count, "value"), count == 1 ? "it" : "each",
                        why_no_value(reason));
  }
  for (std::size_t i = 0; i < std::min(e.bad_records.size(), kMostShown); ++i) {
    text += "  bad: " + e.bad_records[i] + "\n";
  }
  if (e.bad_records.size() > kMostShown) {
    text += fmt::format("  and {} more\n", of_these(e.bad_records.size() - kMostShown, "bad record"));
  }
}

}  // namespace

std::string explanation_text(const Explanation& e) {
  std::string text = fmt::format("path_template {}\n", printable(e.path_template));
  std::size_t width = 0;
  for (const auto& [name, from] : e.variables) width = std::max(width, printable(name).size());
  for (const auto& [name, from] : e.variables) text += fmt::format("  {:<{}}  {}\n", printable(name), width, from);
  text += fmt::format("\nkeys below {}, as they would be of {} records each\n", e.place, kExampleRecords);
  for (const auto& named : e.keys)
    text += fmt::format("  {}\n    {}\n", named.what, key_text(named.key, named.why_not));
  text += "\na file ends, whichever comes first\n";
  for (const std::string& end : e.ends) text += "  " + end + "\n";
  for (const std::string& note : e.notes) text += "  note: " + note + "\n";
  text += "\nlimits\n";
  for (const std::string& limit : e.limits) text += "  " + limit + "\n";
  text +=
      "\ncan two files have one key?\n"
      "  two partitions, or two files of one: no. Every key ends with the partition's number and the offsets of the\n"
      "  file's first and last record, and no two files of a topic have all three, and their values, in common.\n"
      "  Partitions of several topics of one source are counted apart in keys that do not name the topic.\n";
  if (e.shared.empty()) {
    text += "  two topics, streams or objects: no name was found that meets another's key.\n";
  } else {
    text += "  yes, where partition and offsets are the same and only names differ that the key does not keep apart:\n";
  }
  for (const auto& shared : e.shared) {
    text += fmt::format("  {} and {}: {}\n    {}\n", printable(shared.one), printable(shared.other), shared.way_out,
                        printable_key(shared.key));
  }
  add_records(e, text);
  return text;
}

std::string explanation_json(const Explanation& e) {
  Json json{
      {"path_template", e.path_template}, {"below", e.place}, {"variables", Json::object()}, {"keys", Json::array()}};
  const auto with_key = [](Json one, const std::string& key, const std::string& why_not) {
    if (why_not.empty()) {
      one["key"] = key;
    } else {
      one["error"] = why_not;
    }
    return one;
  };
  for (const auto& [name, from] : e.variables) json["variables"][name] = from;
  for (const auto& named : e.keys) json["keys"].push_back(with_key({{"what", named.what}}, named.key, named.why_not));
  json["file_ends"] = e.ends;
  json["notes"] = e.notes;
  json["limits"] = e.limits;
  json["shared"] = Json::array();
  for (const auto& shared : e.shared) {
    json["shared"].push_back(
        {{"one", shared.one}, {"other", shared.other}, {"key", shared.key}, {"way_out", shared.way_out}});
  }
  if (e.has_records) {
    json["records"] = Json::array();
    for (const auto& group : e.records) {
      json["records"].push_back(
          with_key({{"records", group.records}, {"first_line", group.first}}, group.key, group.why_not));
    }
    json["fallbacks"] = Json::object();
    for (const auto& [reason, count] : e.fallbacks) json["fallbacks"][std::string(to_string(reason))] = count;
    json["bad_records"] = e.bad_records;
  }
  json["ok"] = e.ok();
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace millrace::s3_sink
