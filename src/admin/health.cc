// SPDX-License-Identifier: Apache-2.0
#include "admin/health.h"

#include <fmt/format.h>

#include <chrono>

namespace millrace::admin {
namespace {

// Records flow when some came since a probe at most this long ago; probes are seconds to a minute apart.
constexpr Duration kFlowMemory = std::chrono::minutes(2);

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

std::optional<std::string> Health::complaint(const PipelineSnapshot& snapshot) {
  const SteadyTime now = clock_.now();
  bool flows = false;
  {
    const MutexLock lock(mutex_);
    if (records_seen_ && snapshot.records_in != *records_seen_) last_flow_ = now;
    records_seen_ = snapshot.records_in;
    flows = last_flow_ && now - *last_flow_ <= kFlowMemory;
  }
  using Phase = PipelineSnapshot::Phase;
  if (snapshot.phase == Phase::starting || snapshot.phase == Phase::ended) return std::nullopt;
  if (snapshot.since_control_heartbeat > heartbeat_fail_after_) {
    return fmt::format("the control thread has given no sign for {:.1f} s (limit {:.0f} s)",
                       seconds(snapshot.since_control_heartbeat), seconds(heartbeat_fail_after_));
  }
  if (flows && snapshot.pending_batches > 0 && snapshot.since_commit > watermark_fail_after_) {
    return fmt::format(
        "records come in, but nothing was committed for {:.0f} s (limit {:.0f} s); {} batches are pending{}",
        seconds(snapshot.since_commit), seconds(watermark_fail_after_), snapshot.pending_batches,
        snapshot.last_write_error.empty() ? "" : fmt::format("; last write error: {}", snapshot.last_write_error));
  }
  return std::nullopt;
}

}  // namespace millrace::admin
