// SPDX-License-Identifier: Apache-2.0
// A chain of credential sources: asks one after the other until one is set up, and stays with it.
#pragma once

#include <memory>
#include <vector>

#include "store/s3/credentials.h"

namespace millrace::s3 {

/// In the order in which they are asked.
[[nodiscard]] std::shared_ptr<CredentialSource> make_credential_chain(
    std::vector<std::shared_ptr<CredentialSource>> sources);

}  // namespace millrace::s3
