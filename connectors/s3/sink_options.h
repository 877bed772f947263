// SPDX-License-Identifier: Apache-2.0
// The S3 sink's options: the schema that reads them, and the checked shape that the sink works with. Pure.
#pragma once

#include <string>
#include <string_view>

#include "connectors/s3/key_template.h"
#include "connectors/s3/stored_as.h"
#include "millrace/config/schema.h"
#include "millrace/connectors/s3.h"
#include "millrace/encode/columnar.h"
#include "millrace/encode/encode_spec.h"
#include "millrace/sink/sink.h"
#include "millrace/store/store_options.h"
#include "millrace/store/store_url.h"

namespace millrace::s3_sink {

/// What makes files end by their records alone, for messages: a replay makes the same ones then.
inline constexpr std::string_view kEndsByContent =
    "max_file_age: 0s, no max_file_idle, no {key}, {header.NAME} or {field.NAME} in path_template, and rotate_on only "
    "with "
    "max_open_files: 1";

/// Options that hold together.
struct CheckedOptions {
  StoreUrl base;  ///< key: the prefix, without slashes at its ends
  StoreOptions store;
  KeyTemplate keys;
  std::string probe_key;
  bool probe = true;
  IfExists if_exists = IfExists::verify;
  Delivery delivery = Delivery::at_least_once;
  /// Where traits.recalls, which is exactly_once by commit objects: how the files of a partition are told apart, in
  /// words.
  std::string files_by;
  TimeSource time_source = TimeSource::message;
  StoredAs as;
  bool cleanup_uploads = false;
  SealPolicy seal;
  Envelope envelope;
  EncodeSpec encode;
  ColumnarOptions columns;  ///< where files are written in columns
  RetryPolicy retry;
  SinkTraits traits;

  [[nodiscard]] bool in_columns() const noexcept { return encode.format == EncodeFormat::rows; }
  /// A file may come to be so large that it is sent in parts.
  [[nodiscard]] bool may_need_parts() const noexcept {
    // What is made of lines may be larger than they are.
    return in_columns() || seal.max_bytes == 0 || seal.max_bytes >= as.multipart_threshold;
  }
};

[[nodiscard]] const Schema<S3SinkOptions>& schema();

/// Every rule over the whole struct. `at` is where it was read; an empty one for options made in code, which tells what
/// was given from what is a default.
[[nodiscard]] Result<CheckedOptions> check(const S3SinkOptions& options, const ConfigSection& at = {});

}  // namespace millrace::s3_sink
