// SPDX-License-Identifier: Apache-2.0
// What the Iggy sink counts (etl_iggy_sink_*), resolved when it opens. Handles; any thread.
#pragma once

#include "millrace/base/result.h"
#include "millrace/metrics/meter.h"

namespace millrace::iggy_sink {

struct SinkMetrics {
  Counter acknowledged;
  Counter bytes;  ///< of payloads and user headers that were acknowledged
  Counter requests;
  Counter failed;  ///< requests
  Counter sessions;
  Counter left_out;  ///< headers

  [[nodiscard]] static Result<SinkMetrics> make(const Meter& meter);
};

}  // namespace millrace::iggy_sink
