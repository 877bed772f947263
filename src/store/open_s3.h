// SPDX-License-Identifier: Apache-2.0
// Opens s3:// stores; apart from open_store.cc so that the words of `store` know no HTTP client.
#pragma once

#include <memory>
#include <string>

#include "millrace/base/result.h"
#include "millrace/store/store_url.h"

namespace millrace {

[[nodiscard]] Result<std::shared_ptr<ObjectStore>> open_s3(const StoreUrl& url, const StoreOptions& options,
                                                           const StoreContext& context);
[[nodiscard]] Result<void> check_s3(const StoreUrl& url, const StoreOptions& options);
[[nodiscard]] bool same_server(const StoreOptions& a, const StoreOptions& b);
/// Empty: AWS.
[[nodiscard]] std::string endpoint_text(const StoreOptions& options);

}  // namespace millrace
