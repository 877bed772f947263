// SPDX-License-Identifier: Apache-2.0
// `millrace status`: where the group is in each partition, asked of the brokers. Joins nothing and stores nothing.
#pragma once

#include <string>

#include "millrace/base/result.h"
#include "millrace/connectors/kafka.h"

namespace millrace::kafka {

/// Waits for the brokers as long as a run would.
[[nodiscard]] Result<std::string> status(const KafkaSourceOptions& options, const BuildContext& context, bool json);

}  // namespace millrace::kafka
