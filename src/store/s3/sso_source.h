// SPDX-License-Identifier: Apache-2.0
// Temporary keys of a role of AWS's single sign-on, asked for with the token that `aws sso login` has left.
#pragma once

#include <memory>
#include <string>

#include "store/s3/credential_context.h"
#include "store/s3/credentials.h"

namespace millrace::s3 {

struct SsoRole {
  std::string profile;    ///< for messages
  std::string cache_key;  ///< names the token's file: the session, or the start url of an older profile
  std::string region;
  std::string account_id;
  std::string role_name;
  std::string provider;  ///< of the keys that come
};
/// The token is read anew with each renewal, so a new `aws sso login` is seen by a run that goes on.
[[nodiscard]] std::shared_ptr<CredentialSource> make_sso_source(SsoRole role, CredentialContext context);

}  // namespace millrace::s3
