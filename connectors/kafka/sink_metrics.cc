// SPDX-License-Identifier: Apache-2.0
#include "connectors/kafka/sink_metrics.h"

namespace millrace::kafka {

Result<SinkMetrics> SinkMetrics::make(const Meter& meter) {
  SinkMetrics m;
  MILLRACE_ASSIGN(m.acknowledged,
                  meter.counter("kafka_sink_records_acknowledged_total", "Records that every replica in sync has."));
  MILLRACE_ASSIGN(m.refused, meter.counter("kafka_sink_records_refused_total",
                                           "Records that were not acknowledged, once for each time."));
  MILLRACE_ASSIGN(m.bytes, meter.counter("kafka_sink_bytes_acknowledged_total",
                                         "Bytes of the keys and values that were acknowledged."));
  return m;
}

}  // namespace millrace::kafka
