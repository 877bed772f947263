// SPDX-License-Identifier: Apache-2.0
// SsoToken: the token that `aws sso login` has left in a file, and how it is renewed without a person while the login
// lasts. Values and pure functions, but for the file.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "millrace/base/result.h"
#include "millrace/base/time.h"
#include "store/s3/credential_context.h"
#include "store/s3/text_question.h"

namespace millrace::s3 {

struct SsoToken {
  std::string path;
  std::string document;  ///< the file as it was read; other programs keep more in it
  std::string access_token;
  std::string shown_end;  ///< as the file says it
  UnixMicros expires = 0;
  // Empty where the login gives none (profiles without an sso_session).
  std::string refresh_token;
  std::string client_id;
  std::string client_secret;

  [[nodiscard]] bool renewable() const {
    return !refresh_token.empty() && !client_id.empty() && !client_secret.empty();
  }
};

/// `cache_key`: the session, or the start url. `login` tells a person what to run, and ends each message.
[[nodiscard]] Result<SsoToken> read_sso_token(std::string_view cache_key, const Environment& environment,
                                              std::string_view login);

/// Asks AWS_ENDPOINT_URL_SSO_OIDC, or the region's, for a new token.
[[nodiscard]] Result<TextQuestion> renewal_question(const SsoToken& token, std::string_view region,
                                                    const CredentialContext& context);

/// The token that was given, and the file replaced by one that holds it: the refresh token in the old one may have
/// been its last use. Nothing when the answer is no token.
[[nodiscard]] std::optional<SsoToken> take_renewal(SsoToken token, const TextAnswer& answer, UnixMicros now);

}  // namespace millrace::s3
