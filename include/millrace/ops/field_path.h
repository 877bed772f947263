// SPDX-License-Identifier: Apache-2.0
// FieldPath: the way from a JSON document to one of its fields, name by name. A value; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"

#pragma GCC visibility push(default)
namespace millrace {

/// Leads through objects only: arrays end a path, and no name means "each".
struct FieldPath {
  std::vector<std::string> names;  ///< at least one; UTF-8, as they are without escapes

  /// "user.name": names with dots between them; `\.` is a dot and `\\` a backslash within a name. A name cannot be
  /// empty here (the list can hold one). Fails (config) with what is wrong.
  [[nodiscard]] static Result<FieldPath> parse(std::string_view text);
  /// As parse() reads it.
  [[nodiscard]] std::string text() const;
  friend bool operator==(const FieldPath&, const FieldPath&) = default;
};

}  // namespace millrace
#pragma GCC visibility pop
