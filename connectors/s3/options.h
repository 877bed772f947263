// SPDX-License-Identifier: Apache-2.0
// What the S3 source is told, checked: S3SourceOptions as given become Settings in which everything is parsed. Values.
#pragma once

#include <cstddef>
#include <string>

#include "connectors/s3/identity.h"
#include "connectors/s3/key_filter.h"
#include "connectors/s3/retry_policy.h"
#include "millrace/connectors/s3.h"
#include "millrace/framing/framer.h"
#include "millrace/store/store_options.h"
#include "millrace/store/store_url.h"

namespace millrace::s3_source {

inline constexpr std::uint64_t kMaxLanes = 4096;
inline constexpr std::uint64_t kMaxRequestsInFlight = 1024;

/// Valid settings; nothing has been opened yet.
struct Settings {
  S3SourceOptions given;
  StoreUrl url;
  StoreUrl checkpoint_url;
  StoreOptions store;
  StoreOptions checkpoint_store;
  bool one_store = false;  ///< the manifest is kept in the source's own store
  KeyFilter filter;
  SourceIdentity identity;
  std::string name;  ///< of the records' origin
  RetryPolicy retry;
  FramerFactory framer = nullptr;
};

/// Checks ranges and what keys mean together; every problem is added, with the key's path below `at` in front.
void check(const S3SourceOptions& options, const std::string& path, const std::string& where, ConfigProblems& problems);

/// Fails (config) with every problem that check() finds.
[[nodiscard]] Result<Settings> settle(S3SourceOptions options);

}  // namespace millrace::s3_source
