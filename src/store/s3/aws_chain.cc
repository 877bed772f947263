// SPDX-License-Identifier: Apache-2.0
#include "store/s3/aws_chain.h"

#include <utility>
#include <vector>

#include "store/s3/credential_chain.h"
#include "store/s3/environment_source.h"
#include "store/s3/profile_files.h"
#include "store/s3/profile_source.h"
#include "store/s3/role_source.h"

namespace millrace::s3 {

namespace {

std::shared_ptr<CredentialSource> make_chain(const AwsChainOptions& options, const CredentialContext& context) {
  const Environment& environment = context.environment;
  std::vector<std::shared_ptr<CredentialSource>> chain;
  const bool by_name = !options.profile.empty();
  if (!by_name) chain.push_back(make_environment_source(environment));
  chain.push_back(make_profile_source({options.profile, options.container, options.instance}, context));
  if (!by_name) {
    chain.push_back(make_environment_web_identity(context));
    const bool in_container = !options.container.relative_uri.empty() || !options.container.full_uri.empty() ||
                              !environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI").empty() ||
                              !environment("AWS_CONTAINER_CREDENTIALS_FULL_URI").empty();
    chain.push_back(in_container ? make_container_source(options.container, environment)
                                 : make_instance_source(options.instance, environment));
  }
  return make_credential_chain(std::move(chain));
}

}  // namespace

std::shared_ptr<CredentialSource> make_credential_source(std::shared_ptr<CredentialSource> keys,
                                                         const AwsChainOptions& options,
                                                         const CredentialContext& context) {
  Role role;
  role.arn = options.role_arn;
  role.external_id = options.external_id;
  if (!options.web_identity_token_file.empty()) {
    return make_web_identity_source(std::move(role), options.web_identity_token_file, context);
  }
  if (!keys) keys = make_chain(options, context);
  return role.arn.empty() ? keys : make_role_source(std::move(keys), std::move(role), context);
}

std::string region_of_profile(const std::string& profile) {
  return ProfileFiles::read().get(profile_name(profile), "region").value;
}

}  // namespace millrace::s3
