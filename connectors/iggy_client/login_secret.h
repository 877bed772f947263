// SPDX-License-Identifier: Apache-2.0
// Who logs in, checked when a client is made and read when it logs in. Nothing here is ever shown.
#pragma once

#include <string>

#include "millrace/base/result.h"
#include "millrace/iggy_client/client.h"

namespace millrace::iggy {

/// Fails (config) unless exactly one way to log in is given.
[[nodiscard]] Result<void> check_credentials(const Credentials& credentials);
/// The token of the options or of their file; empty where a user logs in with a password. Fails (fatal, credentials)
/// when the file cannot be read or holds no token.
[[nodiscard]] Result<std::string> read_token(const Credentials& credentials);

}  // namespace millrace::iggy
