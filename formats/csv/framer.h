// SPDX-License-Identifier: Apache-2.0
// CSV with a header (RFC 4180): one row is one record, handed on as it is spelled, without its line end; the first row
// is the header, which becomes columns() and is no record. Rows end at LF or CRLF outside quotes (exactly one CR is
// stripped); an unterminated last row is a row; empty lines are skipped; a UTF-8 BOM at the start is skipped. A quote
// opens a field only at its beginning; what the fields of a row are is read by the decoder (decode/csv.h). Lane thread;
// owned by the FrameReader of a lane.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "millrace/framing/framer.h"

namespace millrace::csv {

class CsvFramer final : public Framer {
 public:
  explicit CsvFramer(const FramerOptions& options)
      : max_record_bytes_(options.max_record_bytes), dialect_(options.csv) {}

  Result<std::size_t> frame(std::string_view window, bool end_of_stream, std::size_t max_frames,
                            Frames& frames) override;
  void reset() override;
  /// The line with which the next row begins; rows may have several.
  [[nodiscard]] std::uint64_t position() const override { return lines_ + 1; }
  /// Of this stream, once its header has been framed.
  [[nodiscard]] std::shared_ptr<const Columns> columns() const override { return columns_; }

 private:
  // What is searched in one go: with its positions it fits the first-level cache.
  static constexpr std::size_t kPieceBytes = 4096;
  static constexpr std::size_t kNone = SIZE_MAX;

  /// The row at the front of the rest, as far as it has been searched.
  struct Row {
    std::size_t searched = 0;
    bool in_quotes = false;
    std::size_t closed_at = kNone;  ///< where its last quoted field ended, or went on with a doubled quote
    std::uint64_t newlines = 0;     ///< in its quotes
    std::uint64_t quote_line = 0;   ///< newlines before the last opening quote
  };
  void see_quote(const char* row, std::size_t at);
  [[nodiscard]] std::size_t skip_byte_order_mark(std::string_view window, bool end_of_stream);
  [[nodiscard]] Result<void> take_header(std::string_view row);
  [[nodiscard]] std::string row_name() const;
  [[nodiscard]] Error too_large(std::size_t bytes_so_far, bool whole) const;
  [[nodiscard]] Error never_closed() const;

  const std::size_t max_record_bytes_;
  const CsvDialect dialect_;
  bool at_start_ = true;
  std::uint64_t lines_ = 0;  // done with
  std::uint64_t rows_ = 0;   // handed out
  Row row_;
  std::shared_ptr<const Columns> columns_;
  std::array<std::uint32_t, kPieceBytes + 1> positions_;
};

/// The FramerFactory of format `csv`.
[[nodiscard]] std::unique_ptr<Framer> make_csv_framer(const FramerOptions& options);

}  // namespace millrace::csv
