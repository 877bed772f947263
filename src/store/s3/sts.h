// SPDX-License-Identifier: Apache-2.0
// What STS (the token service) is asked and what it answers. Foreign bytes: everything is checked. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "millrace/base/result.h"
#include "store/s3/credential_context.h"
#include "store/s3/credentials.h"
#include "store/s3/text_question.h"

namespace millrace::s3 {

/// A role and how to take it on.
struct Role {
  std::string arn;
  std::string external_id;   ///< what the role's owner asks for; a secret
  std::string session_name;  ///< empty: AWS_ROLE_SESSION_NAME, or one with the number of this process
  std::string duration;      ///< in seconds; empty: as STS likes
  std::string region;        ///< empty: the context's
};

/// Where a request to STS goes.
struct StsAddress {
  std::string url;
  std::string host;    ///< as it is sent and signed
  std::string target;  ///< path, as it is sent and signed
};
/// AWS_ENDPOINT_URL_STS, else AWS_ENDPOINT_URL, else STS of the region. Refuses http:// to another machine.
[[nodiscard]] Result<StsAddress> sts_address(const CredentialContext& context, std::string_view region);

/// The bodies of the two requests.
[[nodiscard]] std::string assume_role_form(const Role& role, const Environment& environment);
[[nodiscard]] std::string web_identity_form(const Role& role, std::string_view token, const Environment& environment);

/// The role's temporary keys, without a provider. `asked`: for messages.
[[nodiscard]] Result<Credentials> parse_sts_answer(const TextAnswer& answer, std::string_view asked);

}  // namespace millrace::s3
