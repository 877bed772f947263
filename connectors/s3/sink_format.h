// SPDX-License-Identifier: Apache-2.0
// The sink's options of what stands in its files, and how these are packed and end: checked, and what they say. Pure.
#pragma once

#include <string>

#include "connectors/s3/complaints.h"
#include "millrace/connectors/s3.h"
#include "millrace/encode/encode_spec.h"

namespace millrace::s3_sink {

/// What is wrong goes to `complaints`.
void check_format(const S3SinkOptions& options, Complaints& complaints);
void check_compression(const S3SinkOptions& options, Complaints& complaints);

/// Of keys, without a dot in front; with the suffix of what packs the file, which a given extension may hold already.
[[nodiscard]] std::string extension(const S3SinkOptions& options);
[[nodiscard]] EncodeSpec encode_spec(const S3SinkOptions& options);

}  // namespace millrace::s3_sink
