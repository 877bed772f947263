// SPDX-License-Identifier: Apache-2.0
// S3Store: an ObjectStore over one bucket of an S3-compatible server. One thread of its own carries all requests;
// completions run there, and blocking calls wait for it. Thread-safe; may be dropped on any thread.
#pragma once

#include <memory>
#include <string>

#include "millrace/base/result.h"
#include "millrace/store/object_store.h"
#include "millrace/store/store_options.h"
#include "millrace/store/store_url.h"
#include "store/s3/s3_options.h"

namespace millrace {

/// Opens nothing over the network: credentials are looked for with the first request. Fails (config) on options that
/// cannot work.
[[nodiscard]] Result<std::shared_ptr<ObjectStore>> make_s3_store(const StoreUrl& url, const StoreOptions& options,
                                                                 const StoreContext& context);

namespace s3 {

/// The same from options already read, for tests: they set timeouts that no option names.
[[nodiscard]] Result<std::shared_ptr<ObjectStore>> make_store(const S3Options& options, const StoreContext& context);

}  // namespace s3
}  // namespace millrace
