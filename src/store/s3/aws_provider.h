// SPDX-License-Identifier: Apache-2.0
// Credentials from the machine the program runs on, through aws-c-auth: the container's endpoint and the instance's
// metadata.
#pragma once

#include <memory>
#include <string>

#include "store/s3/credential_context.h"
#include "store/s3/credentials.h"

namespace millrace::s3 {

struct ContainerOptions {
  std::string relative_uri;
  std::string full_uri;
  std::string token_file;
  std::string relative_base = "http://169.254.170.2";  ///< what relative_uri stands behind, in any container
};
/// What is empty comes from AWS_CONTAINER_CREDENTIALS_* and AWS_CONTAINER_AUTHORIZATION_TOKEN(_FILE).
[[nodiscard]] std::shared_ptr<CredentialSource> make_container_source(ContainerOptions options,
                                                                      const Environment& environment);

struct InstanceOptions {
  std::string metadata_endpoint;  ///< empty: AWS_EC2_METADATA_SERVICE_ENDPOINT, or the usual address
  bool imdsv1_fallback = false;
};
[[nodiscard]] std::shared_ptr<CredentialSource> make_instance_source(const InstanceOptions& options,
                                                                     const Environment& environment);

}  // namespace millrace::s3
