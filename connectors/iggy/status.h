// SPDX-License-Identifier: Apache-2.0
// `millrace status`: where the group or the consumer is in each partition, asked of the server. Joins, makes and stores
// nothing.
#pragma once

#include <string>

#include "millrace/base/result.h"
#include "millrace/connectors/iggy.h"

namespace millrace::iggy_source {

/// Waits for the server, stream and topics as long as a run would.
[[nodiscard]] Result<std::string> status(const IggySourceOptions& options, const BuildContext& context, bool json);

}  // namespace millrace::iggy_source
