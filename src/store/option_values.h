// SPDX-License-Identifier: Apache-2.0
// How the values of a `store:` map are checked. Each function gives the value as kept (normalised), or the reason why
// it is refused; a reason never repeats the value, which may be a secret in the wrong place. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "millrace/base/result.h"
#include "millrace/base/time.h"

namespace millrace {

enum class StoreOptionKind { text, flag, duration, count, endpoint, checksum };

/// The value as StoreOptions keeps it; an error whose message completes "store.<name> ".
[[nodiscard]] Result<std::string> checked_store_value(StoreOptionKind kind, std::string_view value);

/// "5s", "1m30s", "250ms": units ns, us, ms, s, m, h, d, largest first. Nothing when it is none.
[[nodiscard]] std::optional<Duration> store_duration(std::string_view text);

/// True for "http://" urls whose host is this machine: localhost, 127.0.0.0/8, [::1].
[[nodiscard]] bool is_loopback_endpoint(std::string_view endpoint);

}  // namespace millrace
