// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "millrace/store/check_store.h"
#include "millrace/store/store_url.h"
#include "store/file/file_store.h"
#include "store/open_s3.h"

namespace millrace {

Result<std::shared_ptr<ObjectStore>> open_store(const StoreUrl& url, const StoreOptions& options,
                                                const StoreContext& context) {
  if (url.scheme == "s3") return open_s3(url, options, context);
  if (url.scheme == "file") {
    if (!options.empty()) context.log.warn("store options have no effect on file://", {{"url", url.to_string()}});
    return make_file_store({}, context);
  }
  return fail(Error::config(fmt::format("{}: there is no store for {}://", url.to_string(), url.scheme)));
}

Result<void> check_store(const StoreUrl& url, const StoreOptions& options) {
  return url.scheme == "s3" ? check_s3(url, options) : Result<void>();
}

bool same_store(const StoreUrl& a, const StoreOptions& a_options, const StoreUrl& b, const StoreOptions& b_options) {
  return a.same_store(b) && (a.scheme != "s3" || same_server(a_options, b_options));
}

std::string server_text(const StoreUrl& url, const StoreOptions& options) {
  if (url.scheme == "file") return "this machine";
  const std::string endpoint = endpoint_text(options);
  return endpoint.empty() ? "AWS" : endpoint;
}

}  // namespace millrace
