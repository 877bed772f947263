// SPDX-License-Identifier: Apache-2.0
// AwsChain: who is asked for credentials, and in which order, as AWS's own programs do it: environment, profile, web
// identity, then the container or the instance.
#pragma once

#include <memory>
#include <string>

#include "store/s3/aws_provider.h"
#include "store/s3/credential_context.h"
#include "store/s3/credentials.h"

namespace millrace::s3 {

/// What the options say about it; the environment (AWS_*) fills what is empty.
struct AwsChainOptions {
  std::string profile;  ///< asked for by name: nobody else's keys are taken instead
  ContainerOptions container;
  InstanceOptions instance;
  std::string role_arn;                 ///< taken on with what the chain (or `keys`) gives
  std::string external_id;              ///< of that role
  std::string web_identity_token_file;  ///< the role is taken on with this token instead
};

/// `keys`: given in the options; the chain is not asked. May be empty.
[[nodiscard]] std::shared_ptr<CredentialSource> make_credential_source(std::shared_ptr<CredentialSource> keys,
                                                                       const AwsChainOptions& options,
                                                                       const CredentialContext& context);

/// The region that the profile names in the shared configuration files; empty when there is none.
[[nodiscard]] std::string region_of_profile(const std::string& profile);

}  // namespace millrace::s3
