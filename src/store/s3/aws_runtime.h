// SPDX-License-Identifier: Apache-2.0
// The process-wide state of the aws-c-* libraries. Made at first use and never taken down: its threads may still run
// when the last store goes. Thread-safe.
#pragma once

#include <string>
#include <string_view>

struct aws_allocator;
struct aws_client_bootstrap;
struct aws_tls_ctx;

namespace millrace::s3 {

/// The libraries are ready; no thread is started. Enough for signing.
[[nodiscard]] aws_allocator* aws_library();

/// What providers need that ask over the network. Starts one thread of the library's own.
struct AwsNetwork {
  aws_client_bootstrap* bootstrap = nullptr;
  aws_tls_ctx* tls = nullptr;
};
[[nodiscard]] const AwsNetwork& aws_network();

/// What the library says of its own error number.
[[nodiscard]] std::string aws_error_text(int error);

}  // namespace millrace::s3
