// SPDX-License-Identifier: Apache-2.0
// ETag: the tag by which a store names the exact bytes of an object. A value type; any thread.
#pragma once

#include <string>

#pragma GCC visibility push(default)
namespace millrace {

/// An ETag as the store gave it, opaque, quotes and all. Empty: the store gave none.
struct ETag {
  std::string value;
  [[nodiscard]] bool empty() const noexcept { return value.empty(); }
  /// A weak tag (W/"...") names no exact bytes and cannot pin a read.
  [[nodiscard]] bool pins() const noexcept { return !value.empty() && !value.starts_with("W/"); }
  friend bool operator==(const ETag&, const ETag&) = default;
};

}  // namespace millrace
#pragma GCC visibility pop
