// SPDX-License-Identifier: Apache-2.0
#include "formats/csv/framer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "formats/csv/quote_index.h"
#include "millrace/base/printable.h"
#include "millrace/base/utf8.h"
#include "millrace/decode/csv_row.h"

namespace millrace::csv {
namespace {

constexpr std::string_view kBom = "\xEF\xBB\xBF";

std::size_t without_cr(const char* bytes, std::size_t size) { return size - (size != 0 && bytes[size - 1] == '\r'); }

Error bad_header(std::string_view what) {
  return Error::fatal(ErrorCode::malformed, fmt::format("the header of this CSV cannot be read: {}", what));
}

}  // namespace

/// A quote opens at the beginning of a field and closes at the next one; one right behind it, so a doubled one, opens
/// again.
void CsvFramer::see_quote(const char* row, std::size_t at) {
  if (row_.in_quotes) {
    row_.in_quotes = false;
    row_.closed_at = at;
    return;
  }
  const bool begins_field = at == 0 || row[at - 1] == dialect_.delimiter;
  if (begins_field) row_.quote_line = row_.newlines;
  row_.in_quotes = begins_field || (row_.closed_at != kNone && row_.closed_at + 1 == at);
}

std::size_t CsvFramer::skip_byte_order_mark(std::string_view window, bool end_of_stream) {
  const std::string_view seen = window.substr(0, kBom.size());
  const bool is_bom = kBom.starts_with(seen);
  if (is_bom && seen.size() < kBom.size() && !end_of_stream) return 0;
  at_start_ = false;
  return is_bom && seen.size() == kBom.size() ? kBom.size() : 0;
}

Result<std::size_t> CsvFramer::frame(std::string_view window, bool end_of_stream, std::size_t max_frames,
                                     Frames& frames) {
  const char* const bytes = window.data();
  const std::size_t size = window.size();
  std::size_t begin = 0;  // of the row under way
  if (at_start_) [[unlikely]] {
    begin = skip_byte_order_mark(window, end_of_stream);
    if (at_start_) return 0;
  }
  std::size_t room = max_frames;
  const Row at_call = row_;
  const auto refuse = [&](Error error) {
    row_ = at_call;  // so that the same call says the same again
    return fail(std::move(error));
  };
  // The row is whole and ends before `end`: a record, the header, or nothing. What is wrong with it is said by a call
  // of which it is all, so not when this one has rows to show.
  const auto take_row = [&](std::size_t end, bool line_ended) -> Result<bool> {
    const std::size_t length = without_cr(bytes + begin, end - begin);
    if (length > max_record_bytes_) [[unlikely]] {
      if (begin != 0) return false;
      return refuse(too_large(length, true));
    }
    if (length != 0 && columns_) [[likely]] {
      frames.emplace_back(bytes + begin, length);
      ++rows_;
      --room;
    } else if (length != 0) {
      if (begin != 0) return false;
      if (auto taken = take_header({bytes, length}); !taken) return refuse(std::move(taken).error());
    }
    lines_ += row_.newlines + 1;
    row_ = {};
    begin = end + (line_ended ? 1 : 0);
    return true;
  };
  const auto leave = [&] {
    row_ = {};
    return begin;
  };
  for (std::size_t searched = begin + row_.searched; searched < size;) {
    // Few rows are looked for in small pieces, since what is found behind the last one is forgotten.
    const std::size_t most = std::clamp<std::size_t>(128 * std::min(room, kPieceBytes), 512, kPieceBytes);
    const std::size_t piece = std::min(most, size - searched);
    const std::size_t count = find_newlines_and_quotes(bytes + searched, piece, dialect_.quote, positions_.data());
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t at = searched + positions_[i];
      if (bytes[at] != '\n') {
        see_quote(bytes + begin, at - begin);
      } else if (row_.in_quotes) {
        ++row_.newlines;
      } else {
        MILLRACE_ASSIGN(const bool taken, take_row(at, true));
        if (!taken || room == 0) return leave();
      }
    }
    searched += piece;
    row_.searched = searched - begin;
    if (without_cr(bytes + begin, row_.searched) > max_record_bytes_) [[unlikely]] {
      if (begin != 0) return leave();
      return refuse(too_large(without_cr(bytes, row_.searched), false));
    }
  }
  if (!end_of_stream || begin == size) return begin;
  if (row_.in_quotes) {
    if (begin != 0) return leave();
    return refuse(never_closed());
  }
  MILLRACE_ASSIGN(const bool taken, take_row(size, false));
  return taken ? begin : leave();
}

Result<void> CsvFramer::take_header(std::string_view row) {
  if (const std::size_t at = first_invalid_utf8(row); at != std::string_view::npos) {
    return fail(bad_header(fmt::format("it is not valid UTF-8 at byte {}; {}", at,
                                       row.starts_with("\xFF\xFE") || row.starts_with("\xFE\xFF")
                                           ? "the object begins like UTF-16; rewrite it as UTF-8"
                                           : "rewrite the object as UTF-8")));
  }
  std::vector<CsvField> fields;
  if (const CsvFault fault = split_csv_row(row, dialect_, fields); fault.what != nullptr) {
    return fail(bad_header(fmt::format(
        "byte {}: {}{}", fault.at, fault.what,
        row[fault.at] == '\r' ? "; rows end with LF or CRLF here, and lines that end with CR alone are to be "
                                "rewritten"
                              : "")));
  }
  auto columns = std::make_shared<Columns>();
  columns->dialect = dialect_;
  for (const CsvField& field : fields) columns->names.push_back(csv_text(field, dialect_.quote));
  columns_ = std::move(columns);
  return {};
}

std::string CsvFramer::row_name() const {
  return columns_ ? fmt::format("row {}, which begins in line {},", rows_ + 1, position())
                  : fmt::format("the header, which begins in line {},", position());
}

Error CsvFramer::too_large(std::size_t bytes_so_far, bool whole) const {
  return Error::fatal(
      ErrorCode::too_large,
      fmt::format("{} is longer than max_record_bytes: {}{} bytes, limit {}; {}", row_name(), whole ? "" : "at least ",
                  bytes_so_far, max_record_bytes_,
                  row_.in_quotes
                      ? fmt::format("the quote that opens in line {} may be meant to close before; else raise "
                                    "max_record_bytes",
                                    position() + row_.quote_line)
                      : "raise max_record_bytes, or check that the data is CSV"));
}

Error CsvFramer::never_closed() const {
  return Error::fatal(ErrorCode::truncated,
                      fmt::format("the object ends inside the quotes of {} which open in line {}: it was cut off, or a "
                                  "quote is missing or too many",
                                  row_name(), position() + row_.quote_line));
}

void CsvFramer::reset() {
  at_start_ = true;
  lines_ = 0;
  rows_ = 0;
  row_ = {};
  columns_ = nullptr;
}

std::unique_ptr<Framer> make_csv_framer(const FramerOptions& options) { return std::make_unique<CsvFramer>(options); }

}  // namespace millrace::csv
