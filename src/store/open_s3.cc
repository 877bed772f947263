// SPDX-License-Identifier: Apache-2.0
#include "store/open_s3.h"

#include "store/s3/s3_store.h"
#include "store/shown_url.h"

namespace millrace {

Result<std::shared_ptr<ObjectStore>> open_s3(const StoreUrl& url, const StoreOptions& options,
                                             const StoreContext& context) {
  return make_s3_store(url, options, context);
}

Result<void> check_s3(const StoreUrl& url, const StoreOptions& options) {
  return s3::check_s3_options(url.bucket, options, s3::process_environment());
}

std::string endpoint_text(const StoreOptions& options) {
  return shown_url(s3::endpoint_of(options, s3::process_environment()));
}

bool same_server(const StoreOptions& a, const StoreOptions& b) {
  return s3::server_of(a, s3::process_environment()) == s3::server_of(b, s3::process_environment());
}

}  // namespace millrace
