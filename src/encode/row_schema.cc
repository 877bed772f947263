// SPDX-License-Identifier: Apache-2.0
#include "millrace/encode/row_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <unordered_set>
#include <utility>

#include "millrace/base/printable.h"
#include "millrace/decode/json_checker.h"

namespace millrace {
namespace {

constexpr std::size_t kLongestName = 255;
constexpr int kMostDigits = 38;
constexpr std::string_view kRequired = "required";

constexpr std::array<std::pair<std::string_view, ColumnType>, 12> kTypes{{{"bool", ColumnType::boolean},
                                                                          {"int32", ColumnType::int32},
                                                                          {"int64", ColumnType::int64},
                                                                          {"float", ColumnType::float32},
                                                                          {"double", ColumnType::float64},
                                                                          {"string", ColumnType::string},
                                                                          {"binary", ColumnType::binary},
                                                                          {"timestamp", ColumnType::timestamp},
                                                                          {"date", ColumnType::date},
                                                                          {"decimal", ColumnType::decimal},
                                                                          {"json", ColumnType::json},
                                                                          {"null", ColumnType::nothing}}};

/// The last word of `text`, which it loses with the blanks in front of it.
std::string_view take_word(std::string_view& text) {
  while (text.ends_with(' ')) text.remove_suffix(1);
  const std::size_t begin = text.find_last_of(' ') + 1;
  const std::string_view word = text.substr(begin);
  text = text.substr(0, begin);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return word;
}

std::optional<int> to_number(std::string_view text) {
  int number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// decimal(P,S)
bool read_decimal(std::string_view word, Column& column) {
  if (!word.starts_with("decimal(") || !word.ends_with(')')) return false;
  word = word.substr(8, word.size() - 9);
  const std::size_t comma = word.find(',');
  const auto precision = to_number(word.substr(0, comma));
  const auto scale = comma == std::string_view::npos ? std::optional(0) : to_number(word.substr(comma + 1));
  if (!precision || !scale || *precision < 1 || *precision > kMostDigits || *scale < 0 || *scale > *precision)
    return false;
  column.type = ColumnType::decimal;
  column.precision = static_cast<std::uint8_t>(*precision);
  column.scale = static_cast<std::uint8_t>(*scale);
  return true;
}

bool read_type(std::string_view word, Column& column) {
  if (read_decimal(word, column)) return true;
  const auto known = std::ranges::find(kTypes, word, &std::pair<std::string_view, ColumnType>::first);
  if (known == kTypes.end() || known->second == ColumnType::decimal || known->second == ColumnType::nothing)
    return false;
  column.type = known->second;
  return true;
}

bool leads_to(std::string_view outer, std::string_view inner) {
  return inner.size() > outer.size() && inner.starts_with(outer) && inner[outer.size()] == '.';
}

}  // namespace

Result<Column> parse_column(std::string_view text) {
  const auto refuse = [&](std::string_view why) {
    return fail(Error::config(fmt::format("'{}' {}", printable(text, 200), why)));
  };
  Column column;
  std::string_view rest = text;
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  std::string_view word = take_word(rest);
  if (word == kRequired) {
    column.required = true;
    word = take_word(rest);
  }
  if (rest.empty()) return refuse("is no column: a name and its type: 'id int64', 'user.name string required'");
  if (!read_type(word, column)) {
    return refuse(fmt::format(
        "has no type: '{}' is none of bool, int32, int64, float, double, string, binary, timestamp, date, json, "
        "decimal(DIGITS,DIGITS BEHIND THE POINT), of which 38 are the most",
        printable(word, 60)));
  }
  column.name = rest;
  if (!names_column(rest)) {
    return refuse("has a name that is too long, or holds a quote, a backslash or a control character");
  }
  return column;
}

std::string to_text(const Column& column) {
  const auto known = std::ranges::find(kTypes, column.type, &std::pair<std::string_view, ColumnType>::second);
  std::string text = fmt::format("{} {}", column.name, known->first);
  if (column.type == ColumnType::decimal) text += fmt::format("({},{})", column.precision, column.scale);
  if (column.required) text += " required";
  return text;
}

bool names_column(std::string_view name) noexcept {
  const auto is_plain = [](char c) { return c != '"' && c != '\\' && static_cast<unsigned char>(c) >= 0x20; };
  return !name.empty() && name.size() <= kLongestName && !name.starts_with(' ') && !name.ends_with(' ') &&
         std::ranges::all_of(name, is_plain) && is_utf8_text(name);
}

std::vector<Column> RowShape::columns() const {
  std::vector<Column> all;
  if (include_metadata) {
    all.push_back({"_offset", ColumnType::int64, true});
    all.push_back({"_timestamp", ColumnType::timestamp});
    all.push_back({"_stream", ColumnType::string});
    all.push_back({"_topic", ColumnType::string});
    all.push_back({"_partition_id", ColumnType::int64, true});
  }
  if (include_headers) all.push_back({"_headers", ColumnType::json});
  all.insert(all.end(), fields.begin(), fields.end());
  if (unknown == UnknownColumns::keep) all.push_back({"_extra", ColumnType::json});
  return all;
}

bool is_own_column(std::string_view name) noexcept {
  constexpr std::array<std::string_view, 7> kOwn{"_offset",       "_timestamp", "_stream", "_topic",
                                                 "_partition_id", "_headers",   "_extra"};
  return std::ranges::find(kOwn, name) != kOwn.end();
}

Result<void> check_columns(const std::vector<Column>& columns, bool dots_lead_inside) {
  std::unordered_set<std::string_view> names;
  for (const Column& column : columns) {
    const std::string& name = column.name;
    const auto refuse = [&](std::string_view why) {
      return fail(Error::config(fmt::format("'{}' {}", printable(name, 200), why)));
    };
    if (is_own_column(name)) return refuse("is a column of the sink's own");
    if (!names.insert(name).second) return refuse("is there twice");
    if (!dots_lead_inside) continue;
    if (name.starts_with('.') || name.ends_with('.') || name.find("..") != std::string::npos)
      return refuse("has an empty name between its dots, which lead inside objects");
    for (const std::string_view other : names) {
      if (leads_to(other, name) || leads_to(name, other)) {
        return refuse(
            fmt::format("and '{}' cannot both be columns: one is inside of the other", printable(other, 200)));
      }
    }
  }
  return {};
}

}  // namespace millrace
