// SPDX-License-Identifier: Apache-2.0
// RowsFormat: one JSON object a line, as JsonLinesFormat writes it, of records that fit the columns of the sink: the
// writer makes columns of a whole file (columnar.h), and what would not fit has to be found here, where it is one bad
// record and not a file that cannot be written. One per lane, on its thread.
#pragma once

#include <memory>
#include <string_view>

#include "millrace/encode/encode.h"
#include "millrace/encode/encode_spec.h"
#include "millrace/encode/formats.h"
#include "millrace/encode/row_book.h"
#include "millrace/encode/row_reader.h"

#pragma GCC visibility push(default)
namespace millrace::encode {

class RowsFormat {
 public:
  static constexpr std::string_view kName = "rows";
  /// Requires `spec.rows`.
  explicit RowsFormat(const EncodeSpec& spec);
  RowsFormat(RowsFormat&&) noexcept;
  ~RowsFormat();

  void begin_batch(const Origin* origin) { wrapper_.begin_batch(origin); }
  template <class T>
  [[nodiscard]] Result<void> encode(const T& record, const RecordMeta& meta, ByteBuffer& out) {
    if (wraps_) wrapper_.open(meta, out);
    const std::size_t begin = out.size();
    MILLRACE_TRY(record_.encode(record, meta, out));
    out.truncate(out.size() - 1);  // the newline comes last
    MILLRACE_TRY(check(out.view().substr(begin)));
    if (wraps_) wrapper_.close(false, out);
    out.push_back('\n');
    return {};
  }

 private:
  [[nodiscard]] Result<void> check(std::string_view record);
  [[nodiscard]] Result<void> check_depth(std::string_view record);
  [[nodiscard]] Result<void> check_wider(std::string_view record, bool fits);

  struct Depth;

  EncodeSpec spec_;
  bool wraps_;
  JsonWrapper wrapper_;
  JsonLinesFormat record_;
  std::unique_ptr<RowReader> reader_;  ///< of the shape that was seen last
  std::unique_ptr<Depth> depth_;       ///< once a record had to be looked at
};

struct RowsOptions {
  OnError on_error = OnError::fail;  ///< of a record that does not fit the columns
};
/// One row of the columns that a sink has: `of_sink` is its Sink::encode_spec().
[[nodiscard]] inline Encoder<RowsFormat> rows(const EncodeSpec& of_sink, const RowsOptions& options = {}) {
  return {{}, RowsFormat(of_sink), options.on_error, {}};
}

}  // namespace millrace::encode
#pragma GCC visibility pop
