// SPDX-License-Identifier: Apache-2.0
// What url, options and environment of a store mean together, told without opening anything. Pure; any thread.
#pragma once

#include <string>

#include "millrace/base/result.h"
#include "millrace/store/store_options.h"
#include "millrace/store/store_url.h"

#pragma GCC visibility push(default)
namespace millrace {

/// What open_store would refuse in url, options and environment taken together (config).
[[nodiscard]] Result<void> check_store(const StoreUrl& url, const StoreOptions& options);

/// True when both lead to one store: scheme, bucket, and the server behind each endpoint (`AWS_ENDPOINT_URL` counts); a
/// bucket of another server may have the same name. Two names of one server are not seen through.
[[nodiscard]] bool same_store(const StoreUrl& a, const StoreOptions& a_options, const StoreUrl& b,
                              const StoreOptions& b_options);

/// Who is asked, for messages: "AWS", an endpoint (`AWS_ENDPOINT_URL` counts), "this machine".
[[nodiscard]] std::string server_text(const StoreUrl& url, const StoreOptions& options);

}  // namespace millrace
#pragma GCC visibility pop
