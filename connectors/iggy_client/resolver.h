// SPDX-License-Identifier: Apache-2.0
// Names of hosts as addresses, by a deadline: the system's own resolver has none, so it runs on a thread that is left
// behind when it takes too long.
#pragma once

#include <sys/socket.h>

#include <vector>

#include "connectors/iggy_client/address.h"
#include "connectors/iggy_client/cancellation.h"
#include "millrace/base/result.h"
#include "millrace/base/time.h"

namespace millrace::iggy {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

/// At least one. Fails (retryable): unreachable, timeout, cancelled.
[[nodiscard]] Result<std::vector<SocketAddress>> resolve(const Address& address, Clock& clock, SteadyTime deadline,
                                                         const Cancellation& cancellation);

}  // namespace millrace::iggy
