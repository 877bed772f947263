// SPDX-License-Identifier: Apache-2.0
// Transport: bytes to a server and back, each wait with a deadline. Any error leaves a connection of no use. Belongs to
// one thread at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "connectors/iggy_client/address.h"
#include "connectors/iggy_client/cancellation.h"
#include "millrace/base/result.h"
#include "millrace/base/time.h"
#include "millrace/iggy_client/client.h"

namespace millrace::iggy {

class Resolver;

class Transport {
 public:
  virtual ~Transport() = default;
  /// All of `bytes`. Fails (retryable): closed, timeout, io, cancelled.
  [[nodiscard]] virtual Result<void> send(std::string_view bytes, SteadyTime deadline) = 0;
  /// At least one byte.
  [[nodiscard]] virtual Result<std::size_t> receive(std::span<char> room, SteadyTime deadline) = 0;
  /// The other end, as numbers.
  [[nodiscard]] virtual Address peer() const = 0;
};

/// Connects by `deadline`; with TLS where the options say so. Fails (retryable), but fatal for a TLS set-up that no try
/// makes better: a file that is not there, a certificate that is not trusted.
[[nodiscard]] Result<std::unique_ptr<Transport>> connect_to(const Address& address, const TlsOptions& tls, Clock& clock,
                                                            SteadyTime deadline, const Cancellation& cancellation,
                                                            Resolver& resolver);

}  // namespace millrace::iggy
