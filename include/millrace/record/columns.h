// SPDX-License-Identifier: Apache-2.0
// Columns: what the rows of one object have in common: how they are spelled, and the names in their header. Known to
// the framer, which reads the header, and to the decoder, which reads the rows. Immutable once shared; any thread.
#pragma once

#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace millrace {

/// How CSV is spelled: RFC 4180 with other bytes for the two that vary. ASCII, not the same, no CR, no LF.
struct CsvDialect {
  char delimiter = ',';
  char quote = '"';
  friend bool operator==(const CsvDialect&, const CsvDialect&) = default;
};

struct Columns {
  std::vector<std::string> names;  ///< UTF-8, as the header has them: one may be empty, or there more than once
  CsvDialect dialect;
};

}  // namespace millrace
#pragma GCC visibility pop
