// SPDX-License-Identifier: Apache-2.0
// What the Iggy source counts. Handles; any thread.
#pragma once

#include "millrace/base/result.h"
#include "millrace/metrics/meter.h"

namespace millrace::iggy_source {

struct Metrics {
  Counter messages;
  Counter polls;
  Counter sessions;
  Counter stores;
  Counter dropped_stores;
  Counter rebalances;
  Counter undecodable_headers;
  [[nodiscard]] static Result<Metrics> make(const Meter& meter);
};

}  // namespace millrace::iggy_source
