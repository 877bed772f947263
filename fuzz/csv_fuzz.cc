// SPDX-License-Identifier: Apache-2.0
// Any bytes, in any chunks: rows end where the row model ends them, and what a row becomes is one JSON document. The
// first byte is the chunk size, the second the headroom.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "decode/strict_json.h"
#include "formats/csv/framer.h"
#include "formats/csv/row_model.h"
#include "fuzz/framed_object.h"
#include "millrace/decode/csv.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace millrace;
  if (size < 2) return 0;
  // A header that can be read; that of the object may be anything, and then nothing else is.
  const std::string body(reinterpret_cast<const char*>(data + 2), size - 2);
  const std::string object = "a,\"b\"\"\"\r\n" + body;
  const fuzz::FramedObject got =
      fuzz::framed_object(csv::make_csv_framer({}), object, std::size_t{1} + data[0], data[1]);
  csv::RowsOfText expected = csv::model_of_rows(object);
  expected.rows.erase(expected.rows.begin());
  if (got.records != expected.rows || got.error.has_value() != expected.open_quotes) std::abort();

  static const auto columns = std::make_shared<const Columns>(Columns{{"a", "b\""}, {}});
  for (const CsvTypes types : {CsvTypes::strings, CsvTypes::infer}) {
    CsvReader reader(types);
    for (const std::string& row : got.records) {
      decode::Json json;
      if (!reader.read(row, columns, json)) {
        static_cast<void>(reader.error());
      } else if (!StrictJson(json.view).is_document() || json.view.find('\n') != std::string_view::npos) {
        std::abort();
      }
    }
  }
  static_cast<void>(fuzz::framed_object(csv::make_csv_framer({}), body, std::size_t{1} + data[0], data[1]));
  return 0;
}
