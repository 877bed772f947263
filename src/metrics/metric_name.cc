// SPDX-License-Identifier: Apache-2.0
#include "metrics/metric_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>

namespace millrace::metrics {
namespace {

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Narrower than what Prometheus takes: one spelling for all names, and no colon, which is kept for recording rules.
bool is_snake_case(std::string_view text) {
  return !text.empty() && is_lower(text.front()) &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_lower(c) || is_digit(c) || c == '_'; });
}

bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<std::uint8_t>(text[i]);
    const std::size_t length = lead < 0x80                    ? 1
                               : lead >= 0xC2 && lead <= 0xDF ? 2
                               : (lead & 0xF0U) == 0xE0       ? 3
                               : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                              : 0;
    if (length == 0 || text.size() - i < length) return false;
    for (std::size_t k = 1; k < length; ++k) {
      if ((static_cast<std::uint8_t>(text[i + k]) & 0xC0U) != 0x80) return false;
    }
    const auto second = length > 2 ? static_cast<std::uint8_t>(text[i + 1]) : std::uint8_t{0x80};
    const bool overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
    const bool out_of_range = (lead == 0xED && second > 0x9F) || (lead == 0xF4 && second > 0x8F);
    if (overlong || out_of_range) return false;
    i += length;
  }
  return true;
}

auto broken(std::string message) { return fail(Error::fatal(ErrorCode::rule_broken, std::move(message))); }

}  // namespace

std::string_view to_string(Kind kind) noexcept {
  switch (kind) {
    case Kind::counter:
      return "counter";
    case Kind::gauge:
      return "gauge";
    case Kind::histogram:
      return "histogram";
  }
  return "unknown";
}

Result<void> check_claim(std::string_view name_space, std::string_view family, std::string_view help, Kind kind,
                         const Labels& labels) {
  if (!is_snake_case(name_space)) {
    return broken(
        fmt::format("metrics namespace '{}' is malformed; use lower-case letters, digits and '_', beginning "
                    "with a letter (metrics.namespace)",
                    name_space));
  }
  if (!is_snake_case(family)) {
    return broken(
        fmt::format("metric family '{}' is malformed; use lower-case letters, digits and '_', beginning with "
                    "a letter",
                    family));
  }
  if (family.starts_with(fmt::format("{}_", name_space))) {
    return broken(
        fmt::format("metric family '{}' begins with the namespace '{}', which is added to every name; leave "
                    "it out",
                    family, name_space));
  }
  if ((kind == Kind::counter) != family.ends_with("_total")) {
    return broken(fmt::format("{} '{}': counters, and only counters, end in '_total'", to_string(kind), family));
  }
  if (help.empty()) return broken(fmt::format("metric family '{}' has no help text; say what it counts", family));
  std::set<std::string_view> seen;
  for (const auto& [name, value] : labels) {
    if (!is_snake_case(name) || (kind == Kind::histogram && name == "le")) {
      return broken(
          fmt::format("label '{}' of metric family '{}' is malformed or reserved; use lower-case letters, "
                      "digits and '_', beginning with a letter",
                      name, family));
    }
    if (!seen.insert(name).second) {
      return broken(
          fmt::format("label '{}' of metric family '{}' is given twice; the standard labels (pipeline, "
                      "component, component_type) are filled in by the meter",
                      name, family));
    }
    if (!is_utf8(value)) {
      return broken(fmt::format("the value of label '{}' of metric family '{}' is not valid UTF-8", name, family));
    }
  }
  return {};
}

std::string describe_series(std::string_view name, const Labels& labels) {
  std::string text(name);
  char separator = '{';
  for (const auto& [label, value] : labels) {
    text += fmt::format("{}{}=\"{}\"", separator, label, value);
    separator = ',';
  }
  if (separator == ',') text += '}';
  return text;
}

}  // namespace millrace::metrics
