// SPDX-License-Identifier: Apache-2.0
// The sink's options of files in columns, checked, and what they say. Pure.
#pragma once

#include "connectors/s3/complaints.h"
#include "millrace/connectors/s3.h"
#include "millrace/encode/columnar.h"
#include "millrace/encode/row_schema.h"

namespace millrace::s3_sink {

/// What is wrong goes to `complaints`; of another output_format, that it was given at all.
void check_columns_of(const S3SinkOptions& options, Complaints& complaints);

[[nodiscard]] ColumnarOptions columnar_options(const S3SinkOptions& options);
/// Requires options that hold. Not settled, and without fields, where they are to be inferred.
[[nodiscard]] RowShape row_shape(const S3SinkOptions& options);

}  // namespace millrace::s3_sink
