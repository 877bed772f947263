// SPDX-License-Identifier: Apache-2.0
// The Kafka source's own metric families (etl_kafka_source_*), resolved when the source opens. Handles; any thread.
#pragma once

#include "millrace/base/result.h"
#include "millrace/metrics/meter.h"

namespace millrace::kafka {

struct Metrics {
  Counter fetched;        ///< records handed to lanes
  Counter fetched_bytes;  ///< of their payloads and keys
  Counter stale;          ///< records that came once more and were left out
  Counter tombstones;     ///< records without a value
  Counter stores_ok;
  Counter stores_failed;
  Counter assigned;  ///< partitions
  Counter revoked;
  Counter lost;

  [[nodiscard]] static Result<Metrics> make(const Meter& meter);
};

}  // namespace millrace::kafka
