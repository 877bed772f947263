// SPDX-License-Identifier: Apache-2.0
// TLS over a Socket. Owned by one session; one thread at a time.
#pragma once

#include <memory>
#include <string_view>

#include "connectors/iggy_client/socket.h"

namespace millrace::iggy {

/// Shakes hands by `deadline`. `host`: whom the address names, for the certificate unless the options name another.
[[nodiscard]] Result<std::unique_ptr<Transport>> start_tls(std::unique_ptr<Socket> socket, const TlsOptions& options,
                                                           const std::string& host, SteadyTime deadline);

/// What a handshake that failed means. `verdict`: of the library on the certificate, which counts where it is verified.
/// Takes what the library says from its queue.
[[nodiscard]] Error handshake_failed(std::string_view name, bool verify, long verdict);

}  // namespace millrace::iggy
