// SPDX-License-Identifier: Apache-2.0
// Is what lies under a key what we would write there? Blocks; any thread.
#pragma once

#include <cstdint>
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

/// The same for what an earlier run was about to write there, of which only size and checksum are known.
[[nodiscard]] Result<Found> match_content(ObjectStore& store, std::string_view key, std::uint64_t size,
                                          std::string_view checksum);

}  // namespace millrace::s3_sink
