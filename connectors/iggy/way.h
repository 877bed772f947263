// SPDX-License-Identifier: Apache-2.0
// What `millrace explain` tells of the data's way out of Iggy, from the options alone. Pure; asks no server.
#pragma once

#include "millrace/connectors/iggy.h"
#include "millrace/pipeline/data_way.h"

namespace millrace::iggy_source {

/// Rows get, source and commit. Of who logs in nothing is told.
[[nodiscard]] SourceWay way_of(const IggySourceOptions& options);

}  // namespace millrace::iggy_source
