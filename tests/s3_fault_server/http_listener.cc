// SPDX-License-Identifier: Apache-2.0
#include "tests/s3_fault_server/http_listener.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "tests/s3_fault_server/http_connection.h"

namespace millrace::testing {

struct HttpListener::Connection {
  Atomic<bool> ended{false};
  Thread thread;
};

Result<std::unique_ptr<HttpListener>> HttpListener::start(Options options, Handler handler) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0) return fail(Error::fatal(ErrorCode::io, fmt::format("no socket: {}", std::strerror(errno))));
  const int on = 1;
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(options.port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  if (::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || ::listen(listener, 512) != 0 ||
      ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    const int error = errno;
    ::close(listener);
    return fail(Error::fatal(ErrorCode::io, fmt::format("port {}: {}", options.port, std::strerror(error))));
  }
  const int stop = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  return std::unique_ptr<HttpListener>(
      new HttpListener(options, std::move(handler), listener, stop, ntohs(address.sin_port)));
}

HttpListener::HttpListener(Options options, Handler handler, int listener, int stop, std::uint16_t port)
    : options_(options),
      handler_(std::move(handler)),
      listener_(listener),
      stop_(stop),
      port_(port),
      acceptor_("fault-accept", [this] { accept_loop(); }) {}

HttpListener::~HttpListener() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(stop_, &one, sizeof one);
  acceptor_.join();
  std::map<std::uint64_t, std::unique_ptr<Connection>> open;
  {
    const MutexLock lock(mutex_);
    open.swap(connections_);
  }
  for (auto& [number, connection] : open) connection->thread.join();
  ::close(listener_);
  ::close(stop_);
}

std::string HttpListener::endpoint() const { return fmt::format("http://127.0.0.1:{}", port_); }

void HttpListener::accept_loop() {
  while (true) {
    pollfd ready[2] = {{listener_, POLLIN, 0}, {stop_, POLLIN, 0}};
    if (::poll(ready, 2, -1) < 0 && errno != EINTR) return;
    if (ready[1].revents != 0) return;
    if ((ready[0].revents & POLLIN) == 0) continue;
    const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) continue;
    const std::uint64_t number = accepted_.fetch_add(1) + 1;
    open_.fetch_add(1);
    reap();
    auto connection = std::make_unique<Connection>();
    Connection* raw = connection.get();
    raw->thread = Thread("fault-conn", [this, raw, socket, number] {
      {
        HttpConnection served(socket, stop_, number, options_.idle_timeout);
        served.serve(handler_);
        open_.fetch_sub(1);  // before the peer sees the end
      }
      raw->ended.store(true);
    });
    const MutexLock lock(mutex_);
    connections_.emplace(number, std::move(connection));
  }
}

void HttpListener::reap() {
  std::vector<std::unique_ptr<Connection>> ended;
  const MutexLock lock(mutex_);
  for (auto at = connections_.begin(); at != connections_.end();) {
    if (!at->second->ended.load()) {
      ++at;
      continue;
    }
    ended.push_back(std::move(at->second));
    at = connections_.erase(at);
  }
}

}  // namespace millrace::testing
