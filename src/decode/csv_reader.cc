// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <unordered_map>

#include "millrace/base/json_string.h"
#include "millrace/base/printable.h"
#include "millrace/decode/csv.h"
#include "millrace/decode/json_checker.h"

namespace millrace {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::size_t skip_digits(std::string_view text, std::size_t at) {
  while (at < text.size() && is_digit(text[at])) ++at;
  return at;
}

/// RFC 8259, section 6.
bool is_json_number(std::string_view text) {
  std::size_t at = text.starts_with('-') ? 1 : 0;
  std::size_t end = skip_digits(text, at);
  if (end == at || (text[at] == '0' && end > at + 1)) return false;
  if (end < text.size() && text[end] == '.') {
    at = end + 1;
    end = skip_digits(text, at);
    if (end == at) return false;
  }
  if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    at = end + 1;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    end = skip_digits(text, at);
    if (end == at) return false;
  }
  return end == text.size();
}

/// A JSON object has each name once. Rows that are passed on as they are spelled need no names, so this is not the
/// framer's to refuse.
std::optional<Error> twins(const std::vector<std::string>& names) {
  std::unordered_map<std::string_view, std::size_t> seen;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto [twin, is_new] = seen.try_emplace(names[i], i);
    if (is_new) continue;
    return Error::fatal(
        ErrorCode::malformed,
        fmt::format("the header of this CSV names columns {} and {} alike, {}; a JSON object needs a name for each. "
                    "decode: {{raw: {{}}}} passes rows as they are spelled and needs none",
                    twin->second + 1, i + 1, names[i].empty() ? "nothing" : "'" + printable(names[i], 200) + "'"));
  }
  return std::nullopt;
}

}  // namespace

bool CsvReader::read(std::string_view row, const std::shared_ptr<const Columns>& columns, decode::Json& json) {
  if (columns != columns_) [[unlikely]]
    take_columns(columns);
  if (!columns_) [[unlikely]] {
    return refuse(Error::fatal(ErrorCode::config,
                               "decode csv reads rows that a source frames with format: csv, which learns the names of "
                               "the columns; this record came without any"));
  }
  if (bad_names_) [[unlikely]]
    return refuse(*bad_names_);
  if (!is_utf8_text(row)) [[unlikely]]
    return refuse(not_utf8(row));
  if (const CsvFault fault = split_csv_row(row, columns_->dialect, fields_); fault.what != nullptr) [[unlikely]] {
    return refuse(
        Error::record(ErrorCode::malformed, fmt::format("not a CSV row at byte {}: {}", fault.at, fault.what)));
  }
  if (fields_.size() != key_ends_.size()) [[unlikely]]
    return refuse_count();
  json_.clear();
  const std::string_view keys = keys_.view();
  std::size_t key = 0;
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    json_.append(keys.substr(key, key_ends_[i] - key));
    key = key_ends_[i];
    write(fields_[i]);
  }
  json_.push_back('}');
  json = {json_.view(), false};
  return true;
}

void CsvReader::write(const CsvField& field) {
  if (types_ == CsvTypes::infer && !field.quoted) {
    if (field.text.empty()) return json_.append("null");
    if (field.text == "true" || field.text == "false" || is_json_number(field.text)) return json_.append(field.text);
  }
  json_.push_back('"');
  std::string_view text = field.text;
  if (field.doubled) [[unlikely]] {
    const char quote = columns_->dialect.quote;
    for (std::size_t at = text.find(quote); at != std::string_view::npos; at = text.find(quote)) {
      append_json_escaped(json_, text.substr(0, at + 1));
      text.remove_prefix(at + 2);
    }
  }
  append_json_escaped(json_, text);
  json_.push_back('"');
}

void CsvReader::take_columns(const std::shared_ptr<const Columns>& columns) {
  columns_ = columns;
  keys_.clear();
  key_ends_.clear();
  bad_names_.reset();
  if (!columns) return;
  bad_names_ = twins(columns->names);
  for (const std::string& name : columns->names) {
    keys_.push_back(keys_.empty() ? '{' : ',');
    append_json_string(keys_, name);
    keys_.push_back(':');
    key_ends_.push_back(keys_.size());
  }
}

bool CsvReader::refuse(Error error) {
  error_ = std::move(error);
  return false;
}

bool CsvReader::refuse_count() {
  constexpr std::size_t kMostShown = 200;
  std::string names;
  for (const std::string& name : columns_->names) {
    if (names.size() > kMostShown) break;
    names += (names.empty() ? "" : ", ") + name;
  }
  return refuse(
      Error::record(ErrorCode::malformed,
                    fmt::format("the row has {} field{}, the header {} ({}); {}", fields_.size(),
                                fields_.size() == 1 ? "" : "s", columns_->names.size(), printable(names, kMostShown),
                                columns_->names.size() == 1 || fields_.size() == 1
                                    ? "is csv.delimiter of the source the one of these objects?"
                                    : "a field that holds a delimiter or a newline stands in quotes")));
}

}  // namespace millrace
