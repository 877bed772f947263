// SPDX-License-Identifier: Apache-2.0
#include "millrace/framing/formats.h"

#include "formats/csv/framer.h"
#include "formats/json_array/framer.h"
#include "formats/lines/framer.h"
#include "formats/ndjson/framer.h"
#include "formats/raw/framer.h"

namespace millrace {
namespace {

struct Row {
  std::string_view name;
  FramerFactory factory;
};
constexpr Row kRows[] = {{"ndjson", ndjson::make_ndjson_framer},
                         {"lines", lines::make_line_framer},
                         {"json_array", json_array::make_json_array_framer},
                         {"csv", csv::make_csv_framer},
                         {"raw", raw::make_raw_framer}};

}  // namespace

FramerFactory framer_of_format(std::string_view name) noexcept {
  for (const Row& row : kRows) {
    if (row.name == name) return row.factory;
  }
  return nullptr;
}

std::vector<std::string_view> framed_formats() {
  std::vector<std::string_view> names;
  for (const Row& row : kRows) names.push_back(row.name);
  return names;
}

}  // namespace millrace
