// SPDX-License-Identifier: Apache-2.0
// Where the rows of CSV end, worked out the slow and plain way. For tests and fuzz targets.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace millrace::csv {

struct RowsOfText {
  std::vector<std::string> rows;  ///< header included, empty lines not
  bool open_quotes = false;       ///< the text ends inside quotes, in a row that is not among `rows`
};

/// One byte at a time, as a machine of the states in which a reader of CSV can be; nothing shared with the framer.
inline RowsOfText model_of_rows(std::string_view text, char delimiter = ',', char quote = '"') {
  enum class At { field_begin, unquoted, quoted, behind_quote } at = At::field_begin;
  RowsOfText found;
  std::string row;
  const auto finish = [&] {
    if (row.ends_with('\r')) row.pop_back();
    if (!row.empty()) found.rows.push_back(row);
    row.clear();
    at = At::field_begin;
  };
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  for (const char byte : text) {
    if (at == At::quoted) {
      row += byte;
      if (byte == quote) at = At::behind_quote;
      continue;
    }
    if (byte == '\n') {
      finish();
      continue;
    }
    row += byte;
    if (byte == delimiter) {
      at = At::field_begin;
    } else if (byte == quote && at != At::unquoted) {
      at = At::quoted;
    } else {
      at = At::unquoted;
    }
  }
  found.open_quotes = at == At::quoted;
  if (!found.open_quotes) finish();
  return found;
}

}  // namespace millrace::csv
