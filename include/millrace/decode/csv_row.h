// SPDX-License-Identifier: Apache-2.0
// One row of CSV as fields (RFC 4180): a field that begins with a quote ends at the next one that is not doubled; in
// any other field a quote is a byte like others. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/borrow.h"
#include "millrace/record/columns.h"

#pragma GCC visibility push(default)
namespace millrace {

/// Borrows the row.
struct CsvField {
  std::string_view text;  ///< without the quotes around it
  bool quoted = false;
  bool doubled = false;  ///< each quote in it still stands twice
};

/// Why a row is none.
struct CsvFault {
  std::size_t at = 0;          ///< byte of the row
  const char* what = nullptr;  ///< null: there is no fault
};

/// Splits `row`, which has no line end of its own. `fields` is replaced; an empty row is one empty field.
[[nodiscard]] CsvFault split_csv_row(std::string_view row MILLRACE_LIFETIME_BOUND, CsvDialect dialect,
                                     std::vector<CsvField>& fields);
/// The field's own text. Not for the hot path.
[[nodiscard]] std::string csv_text(const CsvField& field, char quote);

}  // namespace millrace
#pragma GCC visibility pop
