// SPDX-License-Identifier: Apache-2.0
// AdminServer: a small HTTP listener for people and machines that watch a pipeline: /metrics, /healthz, /readyz,
// /status. Serves on threads of its own from start() until it is destroyed; whatever it shows it asks for when asked.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "millrace/base/result.h"
#include "millrace/base/time.h"
#include "millrace/metrics/meter.h"
#include "millrace/pipeline/pipeline.h"

#pragma GCC visibility push(default)
namespace millrace {

struct AdminOptions {
  /// `host:port`, `[ipv6]:port`, `:port` or `port`; without a host it is 127.0.0.1. Port 0 takes a free one.
  std::string listen;
  Duration heartbeat_fail_after = std::chrono::seconds(30);  ///< /healthz: age of the control thread's heartbeat
  Duration watermark_fail_after = std::chrono::minutes(5);   ///< /healthz: no commit this long while records flow
};

class AdminServer {
 public:
  /// Binds and serves. `registry` null: /metrics is 404. `snapshot` (Pipeline::snapshot) is called on the listener's
  /// threads and must outlive the server. Fails (config) when `listen` is malformed or cannot be bound, naming it.
  [[nodiscard]] static Result<std::unique_ptr<AdminServer>> start(AdminOptions options,
                                                                  std::shared_ptr<const MetricRegistry> registry,
                                                                  std::function<PipelineSnapshot()> snapshot,
                                                                  Clock& clock = Clock::real());
  /// Ends the answers under way and stops.
  ~AdminServer();
  AdminServer(const AdminServer&) = delete;
  AdminServer& operator=(const AdminServer&) = delete;

  /// Where it listens, with the port it got: "127.0.0.1:9090".
  [[nodiscard]] const std::string& address() const noexcept;

 private:
  struct State;
  explicit AdminServer(std::unique_ptr<State> state);
  const std::unique_ptr<State> state_;
};

}  // namespace millrace
#pragma GCC visibility pop
