// SPDX-License-Identifier: Apache-2.0
#include "connectors/iggy_client/address.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <array>
#include <charconv>

#include "millrace/base/printable.h"

namespace millrace::iggy {

using namespace std::string_view_literals;

Result<Address> Address::parse(std::string_view text) {
  const auto wrong = [&] {
    // What stands before an @ may be a password.
    const std::size_t behind = text.rfind('@') + 1;
    return fail(Error::config(fmt::format(
        "'{}{}' is no address; write host:port, such as 127.0.0.1:8090 or [::1]:8090{}", behind == 0 ? "" : "...@",
        printable(text.substr(behind)), behind == 0 ? "" : ", and who logs in as username and password, or as token")));
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
  if (host.find_first_of(" \t/@\0"sv) != std::string_view::npos) return wrong();
  return Address{std::string(host), port};
}

bool is_numeric(const std::string& host) noexcept {
  std::array<unsigned char, 16> bytes{};
  return ::inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

std::string Address::to_string() const {
  // A cluster may name its nodes as it likes, and this is what messages show.
  const std::string shown = printable(host);
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", shown, port) : fmt::format("[{}]:{}", shown, port);
}

}  // namespace millrace::iggy
