// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>

#include "millrace/config/schema.h"

namespace millrace {
namespace {

std::string number_text(std::string_view type, double value) {
  if (type == "bytes") return to_string(ByteSize{static_cast<std::uint64_t>(value)});
  if (type == "duration") return to_string(Duration(std::llround(value * 1e9)));
  if (value == std::floor(value) && std::abs(value) < 1e15) return fmt::format("{}", static_cast<std::int64_t>(value));
  return fmt::format("{}", value);
}

}  // namespace

std::string OptionText::of(bool value) { return value ? "true" : "false"; }
std::string OptionText::of(std::int64_t value) { return std::to_string(value); }
std::string OptionText::of(std::uint64_t value) { return std::to_string(value); }
std::string OptionText::of(double value) { return fmt::format("{}", value); }
std::string OptionText::of(const std::string& value) { return value; }
std::string OptionText::of(ByteSize value) { return to_string(value); }
std::string OptionText::of(Duration value) { return to_string(value); }
std::string OptionText::of(const Secret&) { return {}; }
std::string OptionText::of(const std::vector<std::string>& value) {
  return value.empty() ? std::string() : fmt::format("[{}]", fmt::join(value, ", "));
}
std::string OptionText::of(const std::map<std::string, std::string>& value) {
  std::string text;
  for (const auto& [key, item] : value) text += fmt::format("{}{}: {}", text.empty() ? "{" : ", ", key, item);
  return text.empty() ? text : text + "}";
}

std::string OptionText::range(std::string_view type, std::optional<double> min, std::optional<double> max) {
  if (min && max) return fmt::format("{} to {}", number_text(type, *min), number_text(type, *max));
  if (min) return fmt::format("at least {}", number_text(type, *min));
  if (max) return fmt::format("at most {}", number_text(type, *max));
  return {};
}

}  // namespace millrace
