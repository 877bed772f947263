// SPDX-License-Identifier: Apache-2.0
#include "admin/listen_address.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace millrace::admin {
namespace {

auto refused(std::string_view text, std::string_view why) {
  return fail(Error::config(fmt::format(
      "'{}' is no address to listen on: {}; write host:port, [ipv6]:port or port (9090 means 127.0.0.1:9090, "
      "port 0 takes a free one)",
      text, why)));
}

}  // namespace

Result<ListenAddress> parse_listen_address(std::string_view text) {
  ListenAddress address{.host = "127.0.0.1"};
  std::string_view port = text;
  const std::size_t colon = text.rfind(':');
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return refused(text, "the bracket is not closed");
    if (end == 1) return refused(text, "there is nothing in the brackets");
    if (end + 1 != colon) return refused(text, "the port is missing");
    address.host = text.substr(1, end - 1);
    port = text.substr(colon + 1);
  } else if (colon != std::string_view::npos) {
    const std::string_view host = text.substr(0, colon);
    if (host.find(':') != std::string_view::npos) return refused(text, "an IPv6 address stands in brackets");
    if (!host.empty()) address.host = host;
    port = text.substr(colon + 1);
  }
  if (std::any_of(address.host.begin(), address.host.end(), [](char c) { return c <= ' ' || c == '/'; })) {
    return refused(text, "a host has no spaces and no slashes");
  }
  const auto [end, code] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (code != std::errc() || end != port.data() + port.size()) {
    return refused(text, "the port is no number from 0 to 65535");
  }
  return address;
}

std::string to_string(const ListenAddress& address) {
  const bool ipv6 = address.host.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", ipv6 ? "[" : "", address.host, ipv6 ? "]" : "", address.port);
}

}  // namespace millrace::admin
