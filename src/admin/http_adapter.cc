// SPDX-License-Identifier: Apache-2.0
#include "admin/http_adapter.h"

#include <fmt/format.h>
#include <httplib.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "millrace/base/sync.h"
#include "millrace/base/time.h"

namespace millrace::admin {
namespace {

// A scrape, a probe and a person at once, and one to spare.
constexpr std::size_t kThreads = 4;
constexpr std::time_t kTimeoutSeconds = 5;

}  // namespace

struct HttpListener::State {
  httplib::Server server;
  ListenAddress address;
  Mutex mutex;
  CondVar changed;
  bool ended MILLRACE_GUARDED_BY(mutex) = false;
  Thread thread;  // uses all of the above
};

Result<std::unique_ptr<HttpListener>> HttpListener::listen(const ListenAddress& address, HttpHandler handler) {
  auto state = std::make_unique<State>();
  httplib::Server& server = state->server;
  // The library's own choice, SO_REUSEPORT, would let two processes share the port without a word.
  server.set_socket_options([](socket_t socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  server.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
  // One answer a connection, so that no client keeps a thread to itself while it has nothing to ask.
  server.set_keep_alive_max_count(1);
  server.set_read_timeout(kTimeoutSeconds);
  server.set_write_timeout(kTimeoutSeconds);
  server.set_payload_max_length(0);
  server.set_exception_handler([](const httplib::Request&, httplib::Response& response, const std::exception_ptr&) {
    response.status = 500;
    response.set_content("the answer could not be made\n", "text/plain; charset=utf-8");
  });
  server.Get(".*", [handler = std::move(handler)](const httplib::Request& request, httplib::Response& response) {
    const HttpAnswer answer = handler(request.path);
    response.status = answer.status;
    response.set_content(answer.body, answer.content_type);
  });

  state->address = address;
  errno = 0;
  if (address.port == 0) {
    const int port = server.bind_to_any_port(address.host);
    if (port > 0) state->address.port = static_cast<std::uint16_t>(port);
  } else if (!server.bind_to_port(address.host, address.port)) {
    state->address.port = 0;
  }
  if (state->address.port == 0) {
    const std::string why = errno != 0 ? std::strerror(errno) : "the host is unknown";
    return fail(
        Error::config(fmt::format("the admin listener cannot listen on {}: {}; give another address in "
                                  "metrics.listen, or end what listens there",
                                  to_string(address), why)));
  }
  state->thread = Thread("admin", [raw = state.get()] {
    raw->server.listen_after_bind();
    const MutexLock lock(raw->mutex);
    raw->ended = true;
    raw->changed.notify_all();
  });
  return std::unique_ptr<HttpListener>(new HttpListener(std::move(state)));
}

HttpListener::HttpListener(std::unique_ptr<State> state) : state_(std::move(state)) {}

HttpListener::~HttpListener() {
  // A stop that comes before the thread has begun to listen is forgotten by the library, so it is said until it is
  // heard.
  const MutexLock lock(state_->mutex);
  while (!state_->ended) {
    state_->server.stop();
    Clock::real().wait_until(state_->changed, state_->mutex, Clock::real().now() + std::chrono::milliseconds(1));
  }
}

const ListenAddress& HttpListener::address() const noexcept { return state_->address; }

}  // namespace millrace::admin
