// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/columnar_options.h"

#include <utility>
#include <vector>

#include "connectors/s3/stored_as.h"
#include "millrace/codec/compressor.h"

namespace millrace::s3_sink {

void check_columns_of(const S3SinkOptions& options, Complaints& complaints) {
  if (options.output_format != OutputFormat::parquet) {
    if (complaints.given("parquet")) {
      complaints.about("parquet", "has a meaning with output_format parquet only; remove it, or set output_format");
    }
    return;
  }
  const auto refuse = [&](std::string_view key, bool on, std::string_view why) {
    if (on) complaints.about(key, why);
  };
  refuse("compat", options.compat != Compat::none, "has no output_format parquet; remove one of them");
  refuse("wrap", !options.wrap, "has no effect with parquet, whose columns are the record's fields; remove it");
  refuse("mark_encoding", options.mark_encoding, "has no effect with parquet, whose records are JSON; remove it");
  refuse("timestamp_precision", options.timestamp_precision != 0,
         "has no effect with parquet, whose times have microseconds; remove it");
  refuse("compression_suffix", options.compression_suffix.has_value(),
         "has no effect with parquet, which is packed inside and keeps its extension; remove it");
  std::vector<Column> columns;
  bool sound = true;
  for (const std::string& text : options.parquet.schema) {
    if (auto column = parse_column(text)) {
      columns.push_back(*std::move(column));
    } else {
      complaints.about("parquet.schema", column.error());
      sound = false;
    }
  }
  if (auto checked = check_columns(columns); sound && !checked) complaints.about("parquet.schema", checked.error());
}

ColumnarOptions columnar_options(const S3SinkOptions& options) {
  const Codec codec = codec_of(options.compression);
  return {.codec = codec,
          // Arrow's own would be others.
          .level = static_cast<int>(options.compression_level.value_or(compression_levels(codec).own)),
          .row_group_bytes = options.parquet.row_group_size.bytes,
          .row_group_rows = options.parquet.row_group_rows};
}

RowShape row_shape(const S3SinkOptions& options) {
  RowShape shape;
  for (const std::string& text : options.parquet.schema) {
    if (auto column = parse_column(text)) shape.fields.push_back(*std::move(column));
  }
  shape.settled = shape.dots_lead_inside = !options.parquet.schema.empty();
  shape.include_metadata = options.include_metadata;
  shape.include_headers = options.include_headers;
  shape.unknown = options.parquet.on_unknown_field;
  return shape;
}

}  // namespace millrace::s3_sink
