// SPDX-License-Identifier: Apache-2.0
#include "connectors/iggy/sink_metrics.h"

namespace millrace::iggy_sink {

Result<SinkMetrics> SinkMetrics::make(const Meter& meter) {
  SinkMetrics m;
  MILLRACE_ASSIGN(m.acknowledged,
                  meter.counter("iggy_sink_messages_acknowledged_total", "Messages that the server has said it took."));
  MILLRACE_ASSIGN(m.bytes, meter.counter("iggy_sink_bytes_acknowledged_total",
                                         "Bytes of the payloads and user headers of these messages."));
  MILLRACE_ASSIGN(m.requests, meter.counter("iggy_sink_requests_total", "Requests that carried messages."));
  MILLRACE_ASSIGN(m.failed, meter.counter("iggy_sink_requests_failed_total",
                                          "Requests that were refused, or whose outcome was not heard."));
  MILLRACE_ASSIGN(m.sessions,
                  meter.counter("iggy_sink_sessions_total", "Logins of writers, reconnections among them."));
  MILLRACE_ASSIGN(m.left_out,
                  meter.counter("iggy_sink_headers_left_out_total",
                                "Headers that had no place in a message, left out as on_unfit_header says."));
  return m;
}

}  // namespace millrace::iggy_sink
