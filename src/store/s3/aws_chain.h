// SPDX-License-Identifier: Apache-2.0
// AwsChain: credentials by AWS's default chain, through aws-c-auth: environment, profile, web identity, then container
// or instance metadata. Asks one after the other and stays with the one that answered.
#pragma once

#include <memory>
#include <string>

#include "store/s3/credentials.h"

namespace millrace::s3 {

/// What the options say about the chain; the environment (AWS_*) fills what is empty.
struct AwsChainOptions {
  std::string profile;
  std::string metadata_endpoint;  ///< of the instance; empty: the usual address
  bool imdsv1_fallback = false;
  std::string container_relative_uri;
  std::string container_full_uri;
  std::string container_token_file;
};

[[nodiscard]] std::shared_ptr<CredentialSource> make_aws_chain(const AwsChainOptions& options);

/// The region that the profile names in the shared configuration files; empty when there is none.
[[nodiscard]] std::string region_of_profile(const std::string& profile);

}  // namespace millrace::s3
