// SPDX-License-Identifier: Apache-2.0
// StoreUrl: `s3://bucket/prefix` and `file:///path/`, taken apart without changing a byte of the key.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "millrace/base/log.h"
#include "millrace/base/result.h"
#include "millrace/store/object_store.h"
#include "millrace/store/store_options.h"

#pragma GCC visibility push(default)
namespace millrace {

struct StoreUrl {
  std::string scheme;  ///< "s3" or "file"
  std::string bucket;  ///< s3: the bucket; file: empty
  std::string key;     ///< key or prefix. s3: all behind "bucket/". file: the absolute path without its first slash
  /// Fails (config) on other schemes, with the ones known; `memory://` and `http://` get advice.
  [[nodiscard]] static Result<StoreUrl> parse(std::string_view url);
  /// The url it came from, for messages. Never holds credentials: an url with user information is refused.
  [[nodiscard]] std::string to_string() const;
  /// True when both name the same store (scheme and bucket).
  [[nodiscard]] bool same_store(const StoreUrl& other) const {
    return scheme == other.scheme && bucket == other.bucket;
  }
};

/// What a store is opened with beside its url.
struct StoreContext {
  Clock* clock = &Clock::real();
  Random* random = &Random::system();
  Logger log;
};

/// Opens the store that `url` lives in: keys given to it are `StoreUrl::key` and below. For file:// the store's root is
/// "/".
[[nodiscard]] Result<std::shared_ptr<ObjectStore>> open_store(const StoreUrl& url, const StoreOptions& options,
                                                              const StoreContext& context);

}  // namespace millrace
#pragma GCC visibility pop
