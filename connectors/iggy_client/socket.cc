// SPDX-License-Identifier: Apache-2.0
#include "connectors/iggy_client/socket.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>

#include "connectors/iggy_client/resolver.h"

namespace millrace::iggy {
namespace {

Error failed(std::string_view what, int why) {
  const bool gone = why == ECONNRESET || why == EPIPE;
  return Error::retryable(gone ? ErrorCode::closed : ErrorCode::unreachable,
                          fmt::format("{}: {}", what, std::strerror(why)));
}

// The system's poll() counts in milliseconds; one more than is left, so that it does not spin at the end.
int milliseconds_until(SteadyTime deadline, Clock& clock) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - clock.now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left + 1, 0, std::numeric_limits<int>::max()));
}

}  // namespace

Result<void> Socket::open(const SocketAddress& address, SteadyTime deadline) {
  const int on = 1;
  // Requests are small and each waits for its answer. An address without TCP fails below.
  static_cast<void>(::setsockopt(descriptor_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on));
  if (::connect(descriptor_, reinterpret_cast<const sockaddr*>(&address.storage), address.size) == 0) return {};
  if (errno != EINPROGRESS) return fail(failed("no connection", errno));
  MILLRACE_TRY(wait(true, deadline));
  int why = 0;
  socklen_t size = sizeof why;
  if (::getsockopt(descriptor_, SOL_SOCKET, SO_ERROR, &why, &size) != 0) why = errno;
  if (why != 0) return fail(failed("no connection", why));
  return {};
}

Result<std::unique_ptr<Socket>> Socket::connect(std::span<const SocketAddress> addresses, Clock& clock,
                                                SteadyTime deadline, const Cancellation& cancellation) {
  Error last = Error::retryable(ErrorCode::unreachable, "no connection");
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const int descriptor = ::socket(addresses[i].storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0) {
      last = failed("no socket could be opened", errno);
      continue;
    }
    std::unique_ptr<Socket> made(new Socket(descriptor, clock, cancellation));
    const SteadyTime now = clock.now();
    const SteadyTime share = now + (deadline - now) / static_cast<Duration::rep>(addresses.size() - i);
    const Result<void> done = made->open(addresses[i], share);
    if (done) return made;
    last = done.error();
    if (last.code() == ErrorCode::cancelled) break;
  }
  return fail(std::move(last));
}

Socket::~Socket() { ::close(descriptor_); }

Error Socket::closed() { return Error::retryable(ErrorCode::closed, "the server has closed the connection"); }

Result<void> Socket::wait(bool to_send, SteadyTime deadline) {
  std::array<pollfd, 2> watched{
      {{descriptor_, static_cast<short>(to_send ? POLLOUT : POLLIN), 0}, {cancellation_->descriptor(), POLLIN, 0}}};
  for (;;) {
    const int ready = ::poll(watched.data(), watched.size(), milliseconds_until(deadline, *clock_));
    if (ready < 0 && errno != EINTR) return fail(failed("waiting for the server", errno));
    if (watched[1].revents != 0 || cancellation_->cancelled()) return fail(Cancellation::error());
    if (ready > 0 && watched[0].revents != 0) return {};
    if (clock_->now() >= deadline) {
      return fail(Error::retryable(ErrorCode::timeout, "the server did not answer in time"));
    }
  }
}

Result<std::optional<std::size_t>> Socket::try_send(std::string_view bytes) {
  for (;;) {
    const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) return static_cast<std::size_t>(sent);
    if (errno == EAGAIN || errno == EWOULDBLOCK) return std::nullopt;
    if (errno != EINTR) return fail(failed("sending to the server", errno));
  }
}

Result<std::optional<std::size_t>> Socket::try_receive(std::span<char> room) {
  for (;;) {
    const ssize_t got = ::recv(descriptor_, room.data(), room.size(), 0);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno == EAGAIN || errno == EWOULDBLOCK) return std::nullopt;
    if (errno != EINTR) return fail(failed("reading from the server", errno));
  }
}

Result<void> Socket::send(std::string_view bytes, SteadyTime deadline) {
  while (!bytes.empty()) {
    MILLRACE_ASSIGN(const std::optional<std::size_t> sent, try_send(bytes));
    if (sent) {
      bytes.remove_prefix(*sent);
    } else {
      MILLRACE_TRY(wait(true, deadline));
    }
  }
  return {};
}

Result<std::size_t> Socket::receive(std::span<char> room, SteadyTime deadline) {
  for (;;) {
    MILLRACE_ASSIGN(const std::optional<std::size_t> got, try_receive(room));
    if (got && *got == 0) return fail(closed());
    if (got) return *got;
    MILLRACE_TRY(wait(false, deadline));
  }
}

Address Socket::peer() const {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  if (::getpeername(descriptor_, reinterpret_cast<sockaddr*>(&storage), &size) != 0 ||
      ::getnameinfo(reinterpret_cast<const sockaddr*>(&storage), size, host.data(), host.size(), port.data(),
                    port.size(), NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return {};
  }
  return {host.data(), static_cast<std::uint16_t>(std::strtoul(port.data(), nullptr, 10))};
}

}  // namespace millrace::iggy
