// SPDX-License-Identifier: Apache-2.0
// The Kafka sink's own metric families (etl_kafka_sink_*), resolved when the sink opens. Handles; any thread.
#pragma once

#include "millrace/base/result.h"
#include "millrace/metrics/meter.h"

namespace millrace::kafka {

struct SinkMetrics {
  Counter acknowledged;
  Counter refused;  ///< records, each time that they are
  Counter bytes;    ///< of keys and values that were acknowledged

  [[nodiscard]] static Result<SinkMetrics> make(const Meter& meter);
};

}  // namespace millrace::kafka
