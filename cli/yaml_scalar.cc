// SPDX-License-Identifier: Apache-2.0
#include "cli/yaml_scalar.h"

#include <algorithm>
#include <charconv>

namespace millrace::cli {
namespace {

using Kind = YamlScalar::Kind;

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, text) != words.end();
}

YamlScalar refused(std::string_view why) { return {Kind::refused, {}, why}; }

std::string_view take_digits(std::string_view& text) {
  const std::size_t count = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string_view digits = text.substr(0, count);
  text.remove_prefix(count);
  return digits;
}

/// 0x1F, 0o17: without a sign.
YamlScalar in_base(std::string_view digits, int base) {
  std::uint64_t number = 0;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number, base);
  if (stop != digits.data() + digits.size() || error == std::errc::invalid_argument) return {};
  if (error != std::errc()) return refused("is more than 64 bits long; write it as a decimal number");
  return {Kind::number, std::to_string(number), {}};
}

/// [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?
YamlScalar decimal(std::string_view text) {
  std::string json;
  if (text.starts_with('-')) json = "-";
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  const std::string_view whole = take_digits(text);
  std::string_view fraction;
  const bool point = text.starts_with('.');
  if (point) {
    text.remove_prefix(1);
    fraction = take_digits(text);
  }
  if (whole.empty() && fraction.empty()) return {};
  std::string_view exponent = text;
  if (text.starts_with('e') || text.starts_with('E')) {
    text.remove_prefix(1);
    if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
    if (take_digits(text).empty()) return {};
  }
  if (!text.empty()) return {};
  if (whole.size() > 1 && whole.front() == '0') {
    return refused(
        "begins with a zero, which makes it octal to some readers of YAML and decimal to others; write the "
        "number without it, or in quotes for a string");
  }
  json += whole.empty() ? "0" : whole;
  if (point) json += '.';
  if (point) json += fraction.empty() ? "0" : fraction;
  json += exponent;
  return {Kind::number, std::move(json), {}};
}

}  // namespace

YamlScalar read_plain_scalar(std::string_view text) {
  if (is_one_of(text, {"null", "Null", "NULL", "~"})) return {Kind::null, "null", {}};
  if (is_one_of(text, {"true", "True", "TRUE"})) return {Kind::boolean, "true", {}};
  if (is_one_of(text, {"false", "False", "FALSE"})) return {Kind::boolean, "false", {}};
  if (text.starts_with("0x")) return in_base(text.substr(2), 16);
  if (text.starts_with("0o")) return in_base(text.substr(2), 8);
  std::string_view unsigned_text = text;
  if (text.starts_with('-') || text.starts_with('+')) unsigned_text.remove_prefix(1);
  if (is_one_of(unsigned_text, {".inf", ".Inf", ".INF"}) || is_one_of(text, {".nan", ".NaN", ".NAN"})) {
    return refused("is a number to YAML and none to JSON; write it in quotes for a string, or null");
  }
  return decimal(text);
}

}  // namespace millrace::cli
