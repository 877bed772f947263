// SPDX-License-Identifier: Apache-2.0
#include "connectors/iggy_client/address.h"

#include <fmt/format.h>

#include <charconv>

#include "millrace/base/printable.h"

namespace millrace::iggy {

Result<Address> Address::parse(std::string_view text) {
  const auto wrong = [&] {
    return fail(Error::config(
        fmt::format("'{}' is no address; write host:port, such as 127.0.0.1:8090 or [::1]:8090", printable(text))));
  };
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return wrong();
  std::string_view host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return wrong();
  }
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data() + colon + 1, text.data() + text.size(), port);
  if (host.empty() || error != std::errc() || end != text.data() + text.size() || port == 0) return wrong();
  if (host.find_first_of(" \t/@\0") != std::string_view::npos) return wrong();
  return Address{std::string(host), port};
}

std::string Address::to_string() const {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

}  // namespace millrace::iggy
