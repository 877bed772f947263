// SPDX-License-Identifier: Apache-2.0
// What `millrace explain` tells of the data's way out of Kafka, from the options alone. Pure; asks no broker.
#pragma once

#include "millrace/connectors/kafka.h"
#include "millrace/pipeline/data_way.h"

namespace millrace::kafka {

/// Rows get, source and commit. Of `properties` nothing is told.
[[nodiscard]] SourceWay way_of(const KafkaSourceOptions& options);

}  // namespace millrace::kafka
