// SPDX-License-Identifier: Apache-2.0
#include "connectors/iggy/metrics.h"

namespace millrace::iggy_source {

Result<Metrics> Metrics::make(const Meter& meter) {
  Metrics made;
  MILLRACE_ASSIGN(made.messages, meter.counter("iggy_messages_total", "Messages handed to the pipeline."));
  MILLRACE_ASSIGN(made.polls, meter.counter("iggy_polls_total", "Requests for messages."));
  MILLRACE_ASSIGN(made.sessions, meter.counter("iggy_sessions_total", "Logins, reconnections among them."));
  MILLRACE_ASSIGN(made.stores, meter.counter("iggy_offsets_stored_total", "Offsets stored at the server."));
  MILLRACE_ASSIGN(made.dropped_stores,
                  meter.counter("iggy_offsets_dropped_total",
                                "Offsets not stored, as the partition was another member's by then."));
  MILLRACE_ASSIGN(made.rebalances, meter.counter("iggy_rebalances_total", "Changes of the assigned partitions."));
  MILLRACE_ASSIGN(made.undecodable_headers,
                  meter.counter("iggy_undecodable_headers_total", "Messages whose user headers are none."));
  return made;
}

}  // namespace millrace::iggy_source
