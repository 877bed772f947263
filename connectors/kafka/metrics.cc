// SPDX-License-Identifier: Apache-2.0
#include "connectors/kafka/metrics.h"

namespace millrace::kafka {

Result<Metrics> Metrics::make(const Meter& meter) {
  Metrics m;
  MILLRACE_ASSIGN(m.fetched, meter.counter("kafka_source_records_fetched_total", "Records that lanes were given."));
  MILLRACE_ASSIGN(m.fetched_bytes, meter.counter("kafka_source_bytes_fetched_total",
                                                 "Bytes of keys and values of the records that lanes were given."));
  MILLRACE_ASSIGN(
      m.stale, meter.counter("kafka_source_records_stale_total", "Records that were fetched once more and left out."));
  MILLRACE_ASSIGN(m.tombstones, meter.counter("kafka_source_tombstones_total",
                                              "Records without a value, whatever on_tombstone makes of them."));
  MILLRACE_ASSIGN(m.stores_ok, meter.counter("kafka_source_position_stores_total",
                                             "Requests to store positions, by how they ended.", {{"outcome", "ok"}}));
  MILLRACE_ASSIGN(m.stores_failed,
                  meter.counter("kafka_source_position_stores_total", "Requests to store positions, by how they ended.",
                                {{"outcome", "error"}}));
  const auto moved = [&](const char* event) {
    return meter.counter("kafka_source_partitions_moved_total", "Partitions that came to this process or left it.",
                         {{"event", event}});
  };
  MILLRACE_ASSIGN(m.assigned, moved("assigned"));
  MILLRACE_ASSIGN(m.revoked, moved("revoked"));
  MILLRACE_ASSIGN(m.lost, moved("lost"));
  return m;
}

}  // namespace millrace::kafka
