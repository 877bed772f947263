// SPDX-License-Identifier: Apache-2.0
#include "millrace/encode/rows_format.h"

#include <algorithm>
#include <string>
#include <utility>

#include "millrace/decode/json_checker.h"

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

// A document of fewer objects and arrays than this is not too deep.
constexpr std::size_t kDeep = 1000;

[[gnu::cold]] std::unexpected<Error> refuse(const RowReader& reader) {
  return fail(reader.error().prefixed("the record is no row of the file's columns: "));
}

}  // namespace

/// Kept from one record to the next, so that a deep one costs no allocation either (INV-8).
struct RowsFormat::Depth {
  std::string inside;
  JsonChecker checker;
};

RowsFormat::~RowsFormat() = default;
RowsFormat::RowsFormat(RowsFormat&&) noexcept = default;

RowsFormat::RowsFormat(const EncodeSpec& spec)
    : spec_(of_lines(spec)),
      wraps_(spec.include_metadata || spec.include_headers),
      wrapper_(spec_),
      record_(bare(spec_)) {
  MILLRACE_CHECK(spec.rows != nullptr, "rows are encoded for a sink that says which columns it has");
}

Result<void> RowsFormat::check(std::string_view record) {
  if (wraps_) MILLRACE_TRY(check_depth(record));
  if (!reader_) reader_ = std::make_unique<RowReader>(spec_.rows->shape(), RowReader::Of::record);
  const bool fits = reader_->read(record, 0);
  if (!reader_->shape()->settled && (!fits || reader_->met_unknown())) [[unlikely]]
    return check_wider(record, fits);
  if (!fits) [[unlikely]]
    return refuse(*reader_);
  return {};
}

/// The writer reads a record one level further inside than it stands here.
Result<void> RowsFormat::check_depth(std::string_view record) {
  if (record.size() < 2 * kDeep) [[likely]]
    return {};
  const auto opens = std::ranges::count(record, '{') + std::ranges::count(record, '[');
  if (opens < static_cast<std::ptrdiff_t>(kDeep)) return {};
  if (!depth_) depth_ = std::make_unique<Depth>();
  std::string& inside = depth_->inside;
  inside.assign("[").append(record).append("]");
  decode::Json json;
  // What is no JSON at all is the reader's to say.
  if (depth_->checker.check(inside, 0, json) || !depth_->checker.check(record, 0, json)) return {};
  return fail(Error::record(ErrorCode::malformed,
                            "the record's objects and arrays lie too deep in each other: with the object around it, "
                            "in which its metadata stand, there is one more than a document may have"));
}

/// Makes room for `record`; in the book only when it fits then, so that what is refused leaves no column behind.
Result<void> RowsFormat::check_wider(std::string_view record, bool fits) {
  for (;;) {
    const std::shared_ptr<const RowShape> now = spec_.rows->shape();
    std::shared_ptr<const RowShape> next = widened(now, record);
    if (next == reader_->shape()) return fits ? Result<void>() : refuse(*reader_);
    auto reader = std::make_unique<RowReader>(next, RowReader::Of::record);
    fits = reader->read(record, 0);
    if (next == now) {
      reader_ = std::move(reader);
      return fits ? Result<void>() : refuse(*reader_);
    }
    if (!fits) return refuse(*reader);
    if (spec_.rows->replace(now, std::move(next))) {
      reader_ = std::move(reader);
      return {};
    }
  }
}

}  // namespace millrace::encode
