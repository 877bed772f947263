// SPDX-License-Identifier: Apache-2.0
// TLS over a Socket. Owned by one session; one thread at a time.
#pragma once

#include <memory>

#include "connectors/iggy_client/socket.h"

namespace millrace::iggy {

/// Shakes hands by `deadline`. `host`: whom the address names, for the certificate unless the options name another.
[[nodiscard]] Result<std::unique_ptr<Transport>> start_tls(std::unique_ptr<Socket> socket, const TlsOptions& options,
                                                           const std::string& host, SteadyTime deadline);

}  // namespace millrace::iggy
