// SPDX-License-Identifier: Apache-2.0
// EncodeSpec: how a sink wants the records of a configured pipeline written, as data. Typed chains bring an encoder of
// their own.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#pragma GCC visibility push(default)
namespace millrace {

class RowBook;

enum class EncodeFormat {
  discard,     ///< counted, not written
  raw,         ///< payload bytes, then `delimiter`
  json_lines,  ///< one JSON document a line
  json_array,  ///< one JSON array a file
  framed,      ///< value, key, headers and time of each record, for writers that send them one by one (framed.h)
  rows,        ///< one JSON object a line, each of which fits `rows`; the sink makes columns of a file
};

struct EncodeSpec {
  EncodeFormat format = EncodeFormat::raw;
  std::string delimiter = "\n";  ///< raw only
  bool wrap = false;  ///< json formats: wrapper object with `payload`; otherwise the payload itself, which must be JSON
  bool include_metadata = true;             ///< wrapper: offset, timestamp, stream, topic, partition_id
  bool include_headers = false;             ///< wrapper: headers, where a record has some
  int timestamp_digits = 0;                 ///< of a second: 0, 3, 6 or 9
  bool mark_encoding = false;               ///< wrapper: payload_encoding: base64 beside a base64 payload
  std::size_t max_record_bytes = 0;         ///< framed: key, value and headers of a record; 0: no limit
  std::shared_ptr<RowBook> rows = nullptr;  ///< rows only: which columns there are
};

/// What stands around the records of one file.
struct Envelope {
  std::string header;     ///< before the first record: "["
  std::string separator;  ///< between two records: ","
  std::string footer;     ///< after the last: "]"
};

}  // namespace millrace
#pragma GCC visibility pop
