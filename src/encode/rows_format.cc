// SPDX-License-Identifier: Apache-2.0
#include "millrace/encode/rows_format.h"

#include <utility>

namespace millrace::encode {
namespace {

EncodeSpec of_lines(EncodeSpec spec) {
  spec.timestamp_digits = 6;  // as fine as a column of times is
  spec.mark_encoding = false;
  return spec;
}

EncodeSpec bare(EncodeSpec spec) {
  spec.wrap = false;
  return spec;
}

}  // namespace

RowsFormat::RowsFormat(const EncodeSpec& spec)
    : spec_(of_lines(spec)),
      wraps_(spec.include_metadata || spec.include_headers),
      wrapper_(spec_),
      record_(bare(spec_)) {
  MILLRACE_CHECK(spec.rows != nullptr, "rows are encoded for a sink that says which columns it has");
}

Result<void> RowsFormat::check(std::string_view record) {
  if (!reader_) reader_ = std::make_unique<RowReader>(spec_.rows->shape(), RowReader::Of::record);
  bool fits = reader_->read(record, 0);
  if (!reader_->shape()->settled && (!fits || reader_->met_unknown())) [[unlikely]] {
    if (auto shape = spec_.rows->widen(record); shape != reader_->shape()) {
      reader_ = std::make_unique<RowReader>(std::move(shape), RowReader::Of::record);
      fits = reader_->read(record, 0);
    }
  }
  if (!fits) [[unlikely]]
    return fail(reader_->error().prefixed("the record is no row of the file's columns: "));
  return {};
}

}  // namespace millrace::encode
