// SPDX-License-Identifier: Apache-2.0
#include "store/open_s3.h"

#include "store/s3/s3_store.h"

namespace millrace {

Result<std::shared_ptr<ObjectStore>> open_s3(const StoreUrl& url, const StoreOptions& options,
                                             const StoreContext& context) {
  return make_s3_store(url, options, context);
}

}  // namespace millrace
