// SPDX-License-Identifier: Apache-2.0
// Keys from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN.
#pragma once

#include <memory>

#include "store/s3/credential_context.h"
#include "store/s3/credentials.h"

namespace millrace::s3 {

[[nodiscard]] std::shared_ptr<CredentialSource> make_environment_source(Environment environment);

}  // namespace millrace::s3
