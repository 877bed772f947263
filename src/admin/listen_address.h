// SPDX-License-Identifier: Apache-2.0
// Where to listen, taken apart. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "millrace/base/result.h"

namespace millrace::admin {

struct ListenAddress {
  std::string host;  ///< without the brackets of an IPv6 address
  std::uint16_t port = 0;
};

/// `host:port`, `[ipv6]:port`, `:port`, `port`; the host is 127.0.0.1 unless given. Fails (config) naming the text.
[[nodiscard]] Result<ListenAddress> parse_listen_address(std::string_view text);

/// The other way round; the brackets of an IPv6 address come back.
[[nodiscard]] std::string to_string(const ListenAddress& address);

}  // namespace millrace::admin
