// SPDX-License-Identifier: Apache-2.0
#include "store/open_s3.h"

namespace millrace {

Result<std::shared_ptr<ObjectStore>> open_s3(const StoreUrl& url, const StoreOptions& /*options*/,
                                             const StoreContext& /*context*/) {
  return fail(Error::fatal(ErrorCode::not_supported, url.to_string() + ": this build has no S3 client"));
}

}  // namespace millrace
