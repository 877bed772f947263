// SPDX-License-Identifier: Apache-2.0
#include "store/s3/aws_runtime.h"

#include <aws/auth/auth.h>
#include <aws/common/allocator.h>
#include <aws/common/error.h>
#include <aws/io/channel_bootstrap.h>
#include <aws/io/event_loop.h>
#include <aws/io/host_resolver.h>
#include <aws/io/tls_channel_handler.h>

namespace millrace::s3 {

aws_allocator* aws_library() {
  static aws_allocator* const allocator = [] {
    aws_allocator* made = aws_default_allocator();
    aws_auth_library_init(made);
    return made;
  }();
  return allocator;
}

const AwsNetwork& aws_network() {
  static const AwsNetwork network = [] {
    aws_allocator* allocator = aws_library();
    AwsNetwork made;
    aws_event_loop_group* loops = aws_event_loop_group_new_default(allocator, 1, nullptr);
    aws_host_resolver_default_options resolver_options{};
    resolver_options.el_group = loops;
    resolver_options.max_entries = 8;
    aws_host_resolver* resolver = aws_host_resolver_new_default(allocator, &resolver_options);
    aws_client_bootstrap_options bootstrap_options{};
    bootstrap_options.event_loop_group = loops;
    bootstrap_options.host_resolver = resolver;
    made.bootstrap = aws_client_bootstrap_new(allocator, &bootstrap_options);
    aws_tls_ctx_options tls_options{};
    aws_tls_ctx_options_init_default_client(&tls_options, allocator);
    made.tls = aws_tls_client_ctx_new(allocator, &tls_options);
    aws_tls_ctx_options_clean_up(&tls_options);
    return made;
  }();
  return network;
}

std::string aws_error_text(int error) {
  return error == AWS_ERROR_SUCCESS ? "the answer held no credentials" : aws_error_str(error);
}

}  // namespace millrace::s3
