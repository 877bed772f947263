// SPDX-License-Identifier: Apache-2.0
// S3Options: the `store:` string map as the client wants it, with the AWS_* environment filling what is not given.
// Nothing is asked over the network here.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "millrace/base/result.h"
#include "millrace/base/time.h"
#include "millrace/store/store_options.h"
#include "millrace/version.h"
#include "store/s3/aws_chain.h"
#include "store/s3/credential_context.h"
#include "store/s3/credentials.h"

namespace millrace::s3 {

[[nodiscard]] Environment process_environment();

struct S3Options {
  std::string bucket;
  std::string region = "us-east-1";
  std::string endpoint;  ///< empty: AWS
  bool allow_http = false;
  bool virtual_hosted = false;
  bool path_style = false;  ///< asked for, also of AWS

  std::optional<Credentials> keys;  ///< given in the options: nobody else is asked
  AwsChainOptions chain;
  Environment environment = process_environment();  ///< where the chain looks
  bool skip_signature = false;
  bool unsigned_payload = false;
  bool requester_pays = false;

  std::string ca_bundle;
  bool accept_any_certificate = false;
  std::string proxy_url;
  std::string proxy_excludes;
  std::string user_agent = "millrace/" MILLRACE_VERSION;

  Duration connect_timeout = std::chrono::seconds(5);
  Duration no_progress_timeout = std::chrono::seconds(30);  ///< ends a transfer below 100 bytes a second for so long
  std::optional<Duration> request_timeout;                  ///< of a whole request; unset: as long as bytes move
  Duration pool_idle_timeout = std::chrono::seconds(30);
};

[[nodiscard]] S3Options read_s3_options(std::string_view bucket, const StoreOptions& options,
                                        const Environment& environment);

/// What only bucket, options and environment together can get wrong: the endpoint, the proxy, and the bucket's place in
/// its url.
[[nodiscard]] Result<void> check_s3_options(std::string_view bucket, const StoreOptions& options,
                                            const Environment& environment);

/// As it was given, or stands in the environment; empty: AWS.
[[nodiscard]] std::string endpoint_of(const StoreOptions& options, const Environment& environment);

/// The server that the requests go to, one spelling for each: host, port and path, or "aws" for AWS in any region.
[[nodiscard]] std::string server_of(const StoreOptions& options, const Environment& environment);

}  // namespace millrace::s3
