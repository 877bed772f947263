// SPDX-License-Identifier: Apache-2.0
// Health: whether a pipeline is alive, from one snapshot after another. Thread-safe: every probe of the listener asks
// it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "millrace/base/sync.h"
#include "millrace/base/time.h"
#include "millrace/pipeline/pipeline.h"

namespace millrace::admin {

class Health {
 public:
  Health(Duration heartbeat_fail_after, Duration watermark_fail_after, Clock& clock)
      : heartbeat_fail_after_(heartbeat_fail_after), watermark_fail_after_(watermark_fail_after), clock_(clock) {}

  /// Why it is not healthy; nullopt when it is. Unhealthy: the control thread has not beaten its heart, or nothing was
  /// committed for long while records came in. Records that stay away, because of the source or of back-pressure, make
  /// nothing unhealthy: a restart would not help.
  [[nodiscard]] std::optional<std::string> complaint(const PipelineSnapshot& snapshot);

 private:
  const Duration heartbeat_fail_after_;
  const Duration watermark_fail_after_;
  Clock& clock_;
  Mutex mutex_;
  std::optional<std::uint64_t> records_seen_ MILLRACE_GUARDED_BY(mutex_);
  std::optional<SteadyTime> last_flow_ MILLRACE_GUARDED_BY(mutex_);  // when records_in was last seen to have grown
};

}  // namespace millrace::admin
