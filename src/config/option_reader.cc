// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <concepts>

#include "millrace/base/printable.h"
#include "millrace/config/schema.h"

namespace millrace {
namespace {

/// Of a wrong value, in a message.
constexpr std::size_t kShownBytes = 80;

using Kind = ConfigSection::Kind;

/// "expects an integer", for the message about a wrong type.
std::string expectation(const OptionDescription& option) {
  if (option.type == "integer") return "an integer";
  if (option.type == "number") return "a number";
  if (option.type == "boolean") return "true or false";
  if (option.type == "bytes") return "a size such as 8MiB";
  if (option.type == "duration") return "a duration such as 5s";
  if (option.type == "list") return "a list of strings";
  if (option.type == "map") return "a section of strings";
  if (option.type == "section") return "a section";
  if (!option.choices.empty()) return option.type;
  return "a string";
}

std::string found(const ConfigSection& at, const OptionDescription& option) {
  switch (at.kind()) {
    case Kind::null:
      return "nothing (null)";
    case Kind::sequence:
      return "a list";
    case Kind::mapping:
      return "a section";
    default:
      break;
  }
  // Below a section or a map there may be secrets, and this may be one in the wrong place.
  if (option.type == "section" || option.type == "map") return "a text";
  if (option.secret) return "another text";
  const std::string text = printable(at.text(), kShownBytes);
  return at.quoted() ? fmt::format("the text \"{}\"", text) : fmt::format("'{}'", text);
}

void wrong_type(const ConfigSection& at, const OptionDescription& option, std::string_view hint,
                ConfigProblems& problems) {
  problems.add(at.where(), fmt::format("{}: expects {}, found {}{}{}", at.path(), expectation(option),
                                       found(at, option), hint.empty() ? "" : "; ", hint));
}

/// The scalar's text, or nothing after a problem was added.
std::optional<std::string> scalar(const ConfigSection& at, const OptionDescription& option, bool may_be_quoted,
                                  ConfigProblems& problems) {
  if (at.kind() == Kind::scalar && (may_be_quoted || !at.quoted())) return at.text();
  std::string_view hint;
  if (at.kind() == Kind::scalar) hint = "write it without quotes";
  if (at.kind() == Kind::null) hint = "leave the key out for its default";
  if (at.kind() == Kind::null && option.type == "string") hint = "write \"\" for an empty text";
  wrong_type(at, option, hint, problems);
  return std::nullopt;
}

void check_range(const ConfigSection& at, const OptionDescription& option, const OptionNotes& notes, double value,
                 ConfigProblems& problems) {
  const bool low = notes.min && value < *notes.min;
  const bool high = notes.max && value > *notes.max;
  if (!low && !high) return;
  problems.add(at.where(),
               fmt::format("{}: {} is out of range; {} is allowed", at.path(), printable(at.text(), kShownBytes),
                           OptionText::range(option.type, notes.min, notes.max)));
}

template <class Integer>
void read_integer(const ConfigSection& at, const OptionDescription& option, const OptionNotes& notes, Integer& out,
                  ConfigProblems& problems) {
  const auto text = scalar(at, option, false, problems);
  if (!text) return;
  Integer value{};
  const char* end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, value);
  if (stop != end || text->empty() || error == std::errc::invalid_argument) {
    const bool negative = std::unsigned_integral<Integer> && text->size() > 1 && text->front() == '-';
    return wrong_type(at, option, negative ? "it cannot be negative" : "", problems);
  }
  if (error == std::errc::result_out_of_range) {
    problems.add(at.where(), fmt::format("{}: {} is out of range; {}", at.path(), printable(*text, kShownBytes),
                                         option.range.empty() ? "it does not fit into 64 bits" : option.range));
    return;
  }
  out = value;
  check_range(at, option, notes, static_cast<double>(value), problems);
}

void add_about(const ConfigSection& at, const Error& error, ConfigProblems& problems) {
  problems.add(at.where(), fmt::format("{}: {}", at.path(), error.message()));
}

}  // namespace

void OptionReader::read(const ConfigSection& at, const OptionDescription& option, const OptionNotes&, bool& out,
                        ConfigProblems& problems) {
  const auto text = scalar(at, option, false, problems);
  if (!text) return;
  if (*text == "true" || *text == "false") {
    out = *text == "true";
    return;
  }
  wrong_type(at, option, "", problems);
}

void OptionReader::read(const ConfigSection& at, const OptionDescription& option, const OptionNotes& notes,
                        std::int64_t& out, ConfigProblems& problems) {
  read_integer(at, option, notes, out, problems);
}

void OptionReader::read(const ConfigSection& at, const OptionDescription& option, const OptionNotes& notes,
                        std::uint64_t& out, ConfigProblems& problems) {
  read_integer(at, option, notes, out, problems);
}

void OptionReader::read(const ConfigSection& at, const OptionDescription& option, const OptionNotes& notes, double& out,
                        ConfigProblems& problems) {
  const auto text = scalar(at, option, false, problems);
  if (!text) return;
  double value = 0;
  const char* end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, value);
  if (stop != end || error != std::errc() || !std::isfinite(value)) return wrong_type(at, option, "", problems);
  out = value;
  check_range(at, option, notes, value, problems);
}

void OptionReader::read(const ConfigSection& at, const OptionDescription& option, const OptionNotes&, std::string& out,
                        ConfigProblems& problems) {
  if (auto text = scalar(at, option, true, problems)) out = *std::move(text);
}

void OptionReader::read(const ConfigSection& at, const OptionDescription& option, const OptionNotes& notes,
                        ByteSize& out, ConfigProblems& problems) {
  const auto text = scalar(at, option, true, problems);
  if (!text) return;
  const auto size = parse_byte_size(*text);
  if (!size) return add_about(at, size.error(), problems);
  out = *size;
  check_range(at, option, notes, static_cast<double>(size->bytes), problems);
}

void OptionReader::read(const ConfigSection& at, const OptionDescription& option, const OptionNotes& notes,
                        Duration& out, ConfigProblems& problems) {
  const auto text = scalar(at, option, true, problems);
  if (!text) return;
  const auto duration = parse_duration(*text);
  if (!duration) return add_about(at, duration.error(), problems);
  out = *duration;
  check_range(at, option, notes, std::chrono::duration<double>(*duration).count(), problems);
}

void OptionReader::read(const ConfigSection& at, const OptionDescription& option, const OptionNotes&, Secret& out,
                        ConfigProblems& problems) {
  if (auto text = scalar(at, option, true, problems)) out = Secret(*std::move(text));
}

void OptionReader::read(const ConfigSection& at, const OptionDescription& option, const OptionNotes&,
                        std::vector<std::string>& out, ConfigProblems& problems) {
  if (at.kind() != Kind::sequence)
    return wrong_type(at, option, "write [a, b], or lines that begin with '- '", problems);
  out.clear();
  for (const ConfigSection& item : at.items()) {
    OptionDescription one = option;
    one.type = "string";
    if (auto text = scalar(item, one, true, problems)) out.push_back(*std::move(text));
  }
}

void OptionReader::read(const ConfigSection& at, const OptionDescription& option, const OptionNotes&,
                        std::map<std::string, std::string>& out, ConfigProblems& problems) {
  if (at.kind() != Kind::mapping) return wrong_type(at, option, "write {} for none", problems);
  out.clear();
  OptionDescription one = option;
  one.type = "string";
  one.secret = true;  // the map's keys are not known here, so no value of it is shown
  for (const std::string& key : at.keys()) {
    if (auto text = scalar(at.child(key), one, true, problems)) out[key] = *std::move(text);
  }
}

std::optional<std::size_t> OptionReader::read_choice(const ConfigSection& at, const OptionDescription& option,
                                                     ConfigProblems& problems) {
  const auto text = scalar(at, option, true, problems);
  if (!text) return std::nullopt;
  const auto equal = [](char a, char b) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    return lower(a) == lower(b);
  };
  for (std::size_t i = 0; i < option.choices.size(); ++i) {
    if (std::ranges::equal(*text, option.choices[i], equal)) return i;
  }
  const auto near = nearest_name(*text, option.choices);
  wrong_type(at, option, near ? fmt::format("did you mean '{}'?", *near) : std::string(), problems);
  return std::nullopt;
}

void OptionReader::check_keys(const ConfigSection& at, const std::vector<OptionDescription>& options,
                              ConfigProblems& problems, const std::map<std::string, std::string>& reserved) {
  if (at.kind() != Kind::mapping) {
    const std::string name = at.path().empty() ? "the file" : at.path();
    if (at.exists()) {
      OptionDescription section;
      section.type = "section";
      problems.add(at.where(), fmt::format("{}: expects a section, found {}{}", name, found(at, section),
                                           at.kind() == Kind::null ? "; write {} for one with all defaults" : ""));
    } else {
      problems.add(at.where(), fmt::format("{}: missing section", name));
    }
    return;
  }
  std::vector<std::string> known;
  for (const OptionDescription& option : options) {
    known.push_back(option.name);
    known.insert(known.end(), option.aliases.begin(), option.aliases.end());
  }
  for (const std::string& key : at.keys()) {
    if (std::ranges::find(known, key) != known.end()) continue;
    const ConfigSection child = at.child(key);
    const std::string path = at.path().empty() ? key : at.path() + "." + key;
    if (const auto why = reserved.find(key); why != reserved.end()) {
      problems.add(child.key_where(), fmt::format("{}: {}", path, why->second));
      continue;
    }
    const auto near = nearest_name(key, known);
    problems.add(child.key_where(),
                 fmt::format("{}: unknown key; {}", printable(path),
                             near            ? fmt::format("did you mean '{}'?", *near)
                             : known.empty() ? "this section has no keys"
                                             : fmt::format("known keys are {}", fmt::join(known, ", "))));
  }
  for (const OptionDescription& option : options) {
    std::vector<std::string> given;
    if (at.child(option.name).exists()) given.push_back(option.name);
    for (const std::string& alias : option.aliases) {
      if (at.child(alias).exists()) given.push_back(alias);
    }
    if (given.size() < 2) continue;
    const ConfigSection second = at.child(given[1]);
    problems.add(second.key_where(), fmt::format("{}: the same option as '{}', which is given too; keep one of them",
                                                 second.path(), given[0]));
  }
}

void OptionReader::missing(const ConfigSection& parent, const OptionDescription& option, ConfigProblems& problems) {
  const std::string path = parent.path().empty() ? option.name : parent.path() + "." + option.name;
  problems.add(parent.key_where(), fmt::format("{}: is required: {}{}", path, option.meaning,
                                               option.example.empty() ? "" : " Example: " + option.example));
}

bool OptionReader::present(const ConfigSection& parent, const ConfigSection& child, const OptionDescription& option,
                           ConfigProblems& problems) {
  if (child.exists()) return true;
  if (option.required) missing(parent, option, problems);
  return false;
}

ConfigSection OptionReader::child(const ConfigSection& parent, const OptionDescription& option) {
  for (const std::string& alias : option.aliases) {
    if (ConfigSection child = parent.child(alias); child.exists()) return child;
  }
  return parent.child(option.name);
}

}  // namespace millrace
