// SPDX-License-Identifier: Apache-2.0
// Is what lies under a key what we would write there? Blocks; any thread.
#pragma once

#include <string_view>

#include "millrace/base/result.h"
#include "millrace/store/object_store.h"

namespace millrace::s3_sink {

enum class Match { absent, same, different };
struct Found {
  Match match = Match::absent;
  std::string how;  ///< of a difference: "it has 12 bytes, the new one 14"
};

/// Compares size and our checksum from the object's metadata; an object without one is read back, a piece at a time.
[[nodiscard]] Result<Found> match_content(ObjectStore& store, std::string_view key, std::string_view body);

}  // namespace millrace::s3_sink
