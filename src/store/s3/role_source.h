// SPDX-License-Identifier: Apache-2.0
// Temporary keys of a role: taken on with other keys (AssumeRole), or with a token that another service has signed
// (AssumeRoleWithWebIdentity).
#pragma once

#include <memory>
#include <string>

#include "store/s3/credential_context.h"
#include "store/s3/credentials.h"
#include "store/s3/sts.h"

namespace millrace::s3 {

/// `base` gives the keys that sign the request; it is asked anew with each renewal.
[[nodiscard]] std::shared_ptr<CredentialSource> make_role_source(std::shared_ptr<CredentialSource> base, Role role,
                                                                 CredentialContext context);

/// `token_file` is read anew with each renewal: whoever issues such tokens replaces them there.
[[nodiscard]] std::shared_ptr<CredentialSource> make_web_identity_source(Role role, std::string token_file,
                                                                         CredentialContext context);

/// The same from AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE, looked at with each fetch.
[[nodiscard]] std::shared_ptr<CredentialSource> make_environment_web_identity(CredentialContext context);

}  // namespace millrace::s3
