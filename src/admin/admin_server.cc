// SPDX-License-Identifier: Apache-2.0
#include "millrace/admin/admin_server.h"

#include <fmt/format.h>

#include <utility>

#include "admin/health.h"
#include "admin/http_adapter.h"
#include "admin/listen_address.h"
#include "admin/status_json.h"

namespace millrace {

struct AdminServer::State {
  State(const AdminOptions& options, std::shared_ptr<const MetricRegistry> shown,
        std::function<PipelineSnapshot()> snapshot_of_run, Clock& clock)
      : registry(std::move(shown)),
        snapshot(std::move(snapshot_of_run)),
        health(options.heartbeat_fail_after, options.watermark_fail_after, clock) {}

  [[nodiscard]] admin::HttpAnswer answer(std::string_view path);

  const std::shared_ptr<const MetricRegistry> registry;
  const std::function<PipelineSnapshot()> snapshot;
  admin::Health health;
  std::string address;
  std::unique_ptr<admin::HttpListener> listener;  // calls into all of the above
};

namespace {

admin::HttpAnswer text(int status, std::string body) {
  return {.status = status, .content_type = "text/plain; charset=utf-8", .body = std::move(body)};
}

}  // namespace

admin::HttpAnswer AdminServer::State::answer(std::string_view path) {
  if (path == "/metrics" && registry) {
    return {.status = 200,
            .content_type = "text/plain; version=0.0.4; charset=utf-8",
            .body = registry->to_prometheus_text()};
  }
  if (path == "/healthz") {
    const auto complaint = health.complaint(snapshot());
    return complaint ? text(503, *complaint + "\n") : text(200, "ok\n");
  }
  if (path == "/readyz") {
    // Running: lanes are assigned and every sink has opened.
    const PipelineSnapshot::Phase phase = snapshot().phase;
    const bool ready = phase == PipelineSnapshot::Phase::running;
    return text(ready ? 200 : 503, fmt::format("{}\n", admin::to_string(phase)));
  }
  if (path == "/status") {
    return {.status = 200, .content_type = "application/json", .body = admin::to_status_json(snapshot())};
  }
  return text(
      404, fmt::format("there is no such page; there are {}/healthz /readyz /status\n", registry ? "/metrics " : ""));
}

Result<std::unique_ptr<AdminServer>> AdminServer::start(AdminOptions options,
                                                        std::shared_ptr<const MetricRegistry> registry,
                                                        std::function<PipelineSnapshot()> snapshot, Clock& clock) {
  MILLRACE_ASSIGN(const admin::ListenAddress address, admin::parse_listen_address(options.listen));
  auto state = std::make_unique<State>(options, std::move(registry), std::move(snapshot), clock);
  MILLRACE_ASSIGN(state->listener, admin::HttpListener::listen(address, [raw = state.get()](std::string_view path) {
                    return raw->answer(path);
                  }));
  state->address = admin::to_string(state->listener->address());
  return std::unique_ptr<AdminServer>(new AdminServer(std::move(state)));
}

AdminServer::AdminServer(std::unique_ptr<State> state) : state_(std::move(state)) {}
AdminServer::~AdminServer() = default;

const std::string& AdminServer::address() const noexcept { return state_->address; }

}  // namespace millrace
