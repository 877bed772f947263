// SPDX-License-Identifier: Apache-2.0
// What a profile of the shared AWS files names: keys, a role taken on with another profile's keys, a web identity,
// single sign-on, a command. The files are read anew with each fetch, so keys that another program replaces are seen.
#pragma once

#include <memory>
#include <string>

#include "store/s3/aws_provider.h"
#include "store/s3/credential_context.h"
#include "store/s3/credentials.h"

namespace millrace::s3 {

struct ProfileOptions {
  std::string name;  ///< empty: AWS_PROFILE, or "default"
  ContainerOptions container;
  InstanceOptions instance;  ///< both for a profile that names them as the source of its role
};
[[nodiscard]] std::shared_ptr<CredentialSource> make_profile_source(ProfileOptions options, CredentialContext context);

}  // namespace millrace::s3
