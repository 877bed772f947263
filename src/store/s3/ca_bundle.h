// SPDX-License-Identifier: Apache-2.0
// The file of certificate authorities to trust: looked at before the first connection, where what is wrong with it can
// still be told from a server that is not trusted. Any thread.
#pragma once

#include <string>

#include "millrace/base/result.h"

namespace millrace::s3 {

/// Refuses (config) a file that cannot be read or holds no certificate. Empty: the system's authorities.
[[nodiscard]] Result<void> check_ca_bundle(const std::string& path);

}  // namespace millrace::s3
