// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/sink_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "connectors/s3/columnar_options.h"
#include "connectors/s3/key_template.h"
#include "connectors/s3/stored_as.h"
#include "millrace/codec/compressor.h"
#include "millrace/encode/row_book.h"

namespace millrace::s3_sink {
namespace {

std::string_view default_extension(OutputFormat format) {
  switch (format) {
    case OutputFormat::json_lines:
      return "jsonl";
    case OutputFormat::json_array:
      return "json";
    case OutputFormat::parquet:
      return "parquet";
    case OutputFormat::raw:
      break;
  }
  return "bin";
}

void check_extension(const S3SinkOptions& o, Complaints& complaints) {
  const bool plain =
      std::ranges::all_of(o.extension, is_plain) && !o.extension.starts_with('.') && o.extension.size() <= 32;
  if (!plain) {
    complaints.about("extension", "is letters, digits, '.', '_' and '-', at most 32, without the dot in front: ndjson");
  }
}

}  // namespace

void check_format(const S3SinkOptions& o, Complaints& complaints) {
  check_extension(o, complaints);
  const bool raw = o.output_format == OutputFormat::raw;
  if (raw && !o.delimiter && o.compat == Compat::none) {
    complaints.about("delimiter",
                     "is required with raw, or no reader could tell the records apart; \"\\n\" for one a line, \"\" if "
                     "the payloads bring their own ends");
  }
  if (!raw && o.delimiter) complaints.about("delimiter", "has a meaning with output_format raw only");
  const auto refuse = [&](std::string_view key, bool on, std::string_view why) {
    if (on) complaints.about(key, why);
  };
  check_columns_of(o, complaints);
  if (o.output_format == OutputFormat::parquet) return;
  const bool bare = raw || !o.wrap;
  const std::string_view no_wrapper =
      raw ? "has no effect with output_format raw, which writes payloads only; remove it"
          : "has no effect with wrap false, which writes payloads only; remove it";
  refuse("include_metadata", bare && o.include_metadata && complaints.given("include_metadata"), no_wrapper);
  refuse("include_headers", bare && o.include_headers, no_wrapper);
  refuse("mark_encoding", bare && o.mark_encoding, no_wrapper);
  refuse("timestamp_precision", bare && o.timestamp_precision != 0, no_wrapper);
  refuse("timestamp_precision", !bare && !o.include_metadata && o.timestamp_precision != 0,
         "has no effect without include_metadata; remove it");
  const std::int64_t digits = o.timestamp_precision;
  refuse("timestamp_precision", digits != 0 && digits != 3 && digits != 6 && digits != 9,
         "is the number of digits of a second: 0, 3, 6 or 9");
}

void check_compression(const S3SinkOptions& o, Complaints& complaints) {
  if (o.compression == FileCompression::none) {
    for (const std::string_view key : {"compression_level", "compression_suffix"}) {
      if (complaints.given(key)) complaints.about(key, "has no effect without compression; remove it");
    }
    return;
  }
  const CompressionLevels levels = compression_levels(codec_of(o.compression));
  if (o.compression_level && (*o.compression_level < levels.least || *o.compression_level > levels.most)) {
    complaints.about("compression_level", fmt::format("is {}; {} has levels {} to {}", *o.compression_level,
                                                      to_string(codec_of(o.compression)), levels.least, levels.most));
  }
  const bool ends_a_name =
      !o.compression_suffix || o.compression_suffix->empty() ||
      (o.compression_suffix->starts_with('.') && std::ranges::all_of(*o.compression_suffix, is_plain));
  if (!ends_a_name) complaints.about("compression_suffix", "is a dot and letters or digits behind it: .gz; or empty");
}

std::string extension(const S3SinkOptions& o) {
  std::string text = o.extension.empty() ? std::string(default_extension(o.output_format)) : o.extension;
  if (o.compression == FileCompression::none || o.output_format == OutputFormat::parquet) return text;
  const std::string suffix = o.compression_suffix.value_or(o.compression == FileCompression::gzip ? ".gz" : ".zst");
  return text.ends_with(suffix) ? text : text + suffix;
}

EncodeSpec encode_spec(const S3SinkOptions& o) {
  EncodeSpec spec;
  spec.wrap = o.wrap;
  spec.include_metadata = o.include_metadata;
  spec.include_headers = o.include_headers;
  spec.timestamp_digits = static_cast<int>(o.timestamp_precision);
  spec.mark_encoding = o.mark_encoding;
  switch (o.output_format) {
    case OutputFormat::json_lines:
      spec.format = EncodeFormat::json_lines;
      break;
    case OutputFormat::json_array:
      spec.format = EncodeFormat::json_array;
      break;
    case OutputFormat::parquet:
      spec.format = EncodeFormat::rows;
      spec.rows = std::make_shared<RowBook>(row_shape(o));
      break;
    case OutputFormat::raw:
      spec.format = EncodeFormat::raw;
      spec.wrap = false;
      spec.delimiter = o.delimiter.value_or("");
      break;
  }
  return spec;
}

}  // namespace millrace::s3_sink
