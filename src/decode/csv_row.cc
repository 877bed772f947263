// SPDX-License-Identifier: Apache-2.0
#include "millrace/decode/csv_row.h"

#include <cstring>

namespace millrace {

CsvFault split_csv_row(std::string_view row, CsvDialect dialect, std::vector<CsvField>& fields) {
  fields.clear();
  const char* const begin = row.data();
  const char* const end = begin + row.size();
  const char* at = begin;
  const auto fault = [begin](const char* where, const char* what) {
    return CsvFault{static_cast<std::size_t>(where - begin), what};
  };
  for (;;) {
    CsvField field;
    if (at != end && *at == dialect.quote) {
      const char* const first = ++at;
      field.quoted = true;
      for (;;) {
        if (at != end)
          at = static_cast<const char*>(std::memchr(at, dialect.quote, static_cast<std::size_t>(end - at)));
        if (at == nullptr || at == end) return fault(first - 1, "the quote that opens here is not closed");
        if (at + 1 == end || at[1] != dialect.quote) break;
        field.doubled = true;
        at += 2;
      }
      field.text = {first, static_cast<std::size_t>(at - first)};
      ++at;
      if (at != end && *at != dialect.delimiter) {
        return fault(at, "something follows the closing quote of a field; quotes within one are doubled");
      }
    } else {
      const char* const first = at;
      for (; at != end && *at != dialect.delimiter; ++at) {
        if (*at == '\r' || *at == '\n') [[unlikely]]
          return fault(at, "a carriage return or newline stands outside quotes");
      }
      field.text = {first, static_cast<std::size_t>(at - first)};
    }
    fields.push_back(field);
    if (at == end) return {};
    ++at;
  }
}

std::string csv_text(const CsvField& field, char quote) {
  std::string text;
  for (std::size_t i = 0; i < field.text.size(); ++i) {
    text += field.text[i];
    if (field.doubled && field.text[i] == quote) ++i;
  }
  return text;
}

}  // namespace millrace
