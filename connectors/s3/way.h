// SPDX-License-Identifier: Apache-2.0
// What `millrace explain` tells of the data's way through these connectors, from their settings alone. Pure; opens
// nothing.
#pragma once

#include <string>

#include "connectors/s3/options.h"
#include "connectors/s3/sink_options.h"
#include "millrace/pipeline/data_way.h"

namespace millrace::s3_source {
/// Rows get, codec, framing, source and commit.
[[nodiscard]] SourceWay way_of(const Settings& settings);
}  // namespace millrace::s3_source

namespace millrace::s3_sink {
/// SinkKind::place.
[[nodiscard]] std::string place_of(const CheckedOptions& options);
}  // namespace millrace::s3_sink
