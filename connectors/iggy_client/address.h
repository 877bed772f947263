// SPDX-License-Identifier: Apache-2.0
// Address: a host and a port. A value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "millrace/base/result.h"

namespace millrace::iggy {

struct Address {
  std::string host;  ///< a name, or an address without brackets
  std::uint16_t port = 0;

  /// Fails (config) unless `text` is "host:port"; an IPv6 address stands in brackets.
  [[nodiscard]] static Result<Address> parse(std::string_view text);
  [[nodiscard]] std::string to_string() const;
  friend bool operator==(const Address&, const Address&) = default;
};

/// An address, not a name.
[[nodiscard]] bool is_numeric(const std::string& host) noexcept;

}  // namespace millrace::iggy
