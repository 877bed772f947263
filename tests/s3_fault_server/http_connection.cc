// SPDX-License-Identifier: Apache-2.0
#include "tests/s3_fault_server/http_connection.h"

#include <fmt/format.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <utility>

namespace millrace::testing {

namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

std::string_view reason(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 206:
      return "Partial Content";
    case 301:
      return "Moved Permanently";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 412:
      return "Precondition Failed";
    case 416:
      return "Range Not Satisfiable";
    case 500:
      return "Internal Server Error";
    case 503:
      return "Service Unavailable";
    default:
      return "Other";
  }
}

bool bodiless(int status) { return status == 204 || status == 304 || (status >= 100 && status < 200); }

std::optional<HttpRequest> parse_head(std::string_view head) {
  HttpRequest request;
  bool first = true;
  while (!head.empty()) {
    const auto end = head.find("\r\n");
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(end == std::string_view::npos ? head.size() : end + 2);
    if (first) {
      // The target lies between the first and the last blank, so that a raw blank in it is seen and not cut.
      const auto a = line.find(' ');
      const auto b = line.rfind(' ');
      if (a == std::string_view::npos || a == b) return std::nullopt;
      request.method = line.substr(0, a);
      request.target = line.substr(a + 1, b - a - 1);
      first = false;
      continue;
    }
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    request.headers.emplace_back(lower_case(line.substr(0, colon)), std::string(trimmed(line.substr(colon + 1))));
  }
  return first ? std::nullopt : std::optional(std::move(request));
}

}  // namespace

HttpConnection::HttpConnection(int socket, int stop, std::uint64_t number, Duration idle_timeout)
    : socket_(socket), stop_(stop), number_(number), idle_timeout_(idle_timeout) {
  const int on = 1;
  ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

HttpConnection::~HttpConnection() {
  if (socket_ >= 0) ::close(socket_);
}

void HttpConnection::serve(const std::function<HttpAnswer(const HttpRequest&)>& handler) {
  while (true) {
    auto request = read_request();
    if (!request) return;
    const bool keep = !equal_ignoring_case(request->header("connection"), "close");
    const HttpAnswer answer = handler(*request);
    const bool serves_on = send_answer(answer);
    if (answer.ended) answer.ended();
    if (!serves_on || !keep) return;
  }
}

HttpConnection::Wait HttpConnection::wait_readable(std::optional<Duration> timeout) {
  pollfd ready[2] = {{socket_, POLLIN, 0}, {stop_, POLLIN, 0}};
  const int milliseconds =
      timeout ? static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(*timeout).count()) : -1;
  const int count = ::poll(ready, 2, milliseconds);
  if (count == 0) return Wait::timeout;
  if (count < 0 || ready[1].revents != 0) return Wait::over;
  return Wait::ready;
}

bool HttpConnection::pause(Duration duration) {
  pollfd gone[2] = {{socket_, POLLRDHUP, 0}, {stop_, POLLIN, 0}};
  const timespec time{duration.count() / 1'000'000'000, duration.count() % 1'000'000'000};
  return ::ppoll(gone, 2, &time, nullptr) == 0;
}

bool HttpConnection::read_more() {
  char buffer[64 << 10];
  const auto got = ::recv(socket_, buffer, sizeof buffer, 0);
  if (got <= 0) return false;
  unread_.append(buffer, static_cast<std::size_t>(got));
  return true;
}

std::optional<HttpRequest> HttpConnection::read_request() {
  std::size_t end = 0;
  while ((end = unread_.find("\r\n\r\n")) == std::string::npos) {
    const bool idle = unread_.empty() && idle_timeout_.count() > 0;
    if (wait_readable(idle ? std::optional(idle_timeout_) : std::nullopt) != Wait::ready || !read_more()) return {};
  }
  auto request = parse_head(std::string_view(unread_).substr(0, end));
  unread_.erase(0, end + 4);
  if (!request) {
    (void)send_all("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    return {};
  }
  request->connection = number_;
  std::size_t length = 0;
  const auto told = request->header("content-length");
  std::from_chars(told.data(), told.data() + told.size(), length);
  if (equal_ignoring_case(request->header("expect"), "100-continue") && !send_all("HTTP/1.1 100 Continue\r\n\r\n")) {
    return {};
  }
  while (unread_.size() < length) {
    if (wait_readable({}) != Wait::ready || !read_more()) return {};
  }
  request->body = unread_.substr(0, length);
  unread_.erase(0, length);
  return request;
}

bool HttpConnection::send_all(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
      continue;
    }
    if (errno != EAGAIN && errno != EWOULDBLOCK) return false;
    pollfd ready[2] = {{socket_, POLLOUT, 0}, {stop_, POLLIN, 0}};
    if (::poll(ready, 2, -1) < 0 || ready[1].revents != 0 || (ready[0].revents & (POLLERR | POLLHUP)) != 0) {
      return false;
    }
  }
  return true;
}

bool HttpConnection::send_piece(const Delivery& delivery, std::string_view bytes) {
  if (bytes.empty()) return true;
  if (delivery.framing != BodyFraming::chunked) return send_all(bytes);
  return send_all(fmt::format("{:x}\r\n", bytes.size())) && send_all(bytes) && send_all("\r\n");
}

bool HttpConnection::send_body(const HttpAnswer& answer) {
  const Delivery& how = answer.delivery;
  std::string_view body;
  if (answer.body) body = std::string_view(*answer.body).substr(answer.offset, answer.length);
  std::uint64_t sent = 0;
  const auto up_to = [&](std::uint64_t count) {
    const auto piece = body.substr(sent, count > sent ? count - sent : 0);
    sent += piece.size();
    return send_piece(how, piece);
  };
  if (how.pause_after && (!up_to(*how.pause_after) || !pause(how.pause))) return false;
  const std::uint64_t stop_at = std::min({std::uint64_t{body.size()}, how.close_after.value_or(UINT64_MAX),
                                          how.reset_after.value_or(UINT64_MAX), how.stall_after.value_or(UINT64_MAX)});
  while (how.drip.count() > 0 && sent < stop_at) {
    if (!up_to(sent + 1) || !pause(how.drip)) return false;
  }
  if (!up_to(stop_at)) return false;
  if (how.reset_after) {
    reset();
    return false;
  }
  if (how.close_after) return false;
  if (how.stall_after) {
    (void)pause(std::chrono::hours(24));
    return false;
  }
  if (how.framing == BodyFraming::chunked) return !how.omit_last_chunk && send_all("0\r\n\r\n");
  return how.framing == BodyFraming::content_length;
}

bool HttpConnection::send_answer(const HttpAnswer& answer) {
  const Delivery& how = answer.delivery;
  if (how.delay.count() > 0 && !pause(how.delay)) return false;
  if (how.no_answer) {
    if (how.reset_after) reset();
    return false;
  }
  std::string head = answer.status_line.empty() ? fmt::format("HTTP/1.1 {} {}", answer.status, reason(answer.status))
                                                : answer.status_line;
  head += "\r\n";
  for (const auto& [name, value] : answer.headers) head += fmt::format("{}: {}\r\n", name, value);
  if (how.framing == BodyFraming::chunked) {
    head += "Transfer-Encoding: chunked\r\n";
  } else if (how.framing == BodyFraming::content_length && !bodiless(answer.status)) {
    head += fmt::format("Content-Length: {}\r\n", answer.told_length.value_or(answer.length));
  }
  if (how.close_connection || how.framing == BodyFraming::until_close) head += "Connection: close\r\n";
  head += "\r\n";
  if (!send_all(head)) return false;
  if (answer.head_only || bodiless(answer.status)) return !how.close_connection;
  return send_body(answer) && !how.close_connection;
}

void HttpConnection::reset() {
  // Closing with linger zero sends RST; what the kernel still holds is dropped, so wait until the peer has taken it.
  int queued = 1;
  for (int i = 0; i < 4000 && ::ioctl(socket_, SIOCOUTQ, &queued) == 0 && queued > 0; ++i) {
    if (!pause(std::chrono::microseconds(500))) break;
  }
  const linger now{1, 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  ::close(socket_);
  socket_ = -1;
}

}  // namespace millrace::testing
