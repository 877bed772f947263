// SPDX-License-Identifier: Apache-2.0
// Keys that a command prints (credential_process of a profile). It runs on a thread of its own: nothing waits for it
// but who needs the keys, and it is ended when it takes too long.
#pragma once

#include <memory>
#include <string>

#include "store/s3/credentials.h"

namespace millrace::s3 {

/// `command` is given to /bin/sh. Its output is never shown, the end of its error output is.
[[nodiscard]] std::shared_ptr<CredentialSource> make_process_source(std::string command, std::string provider);

}  // namespace millrace::s3
