// SPDX-License-Identifier: Apache-2.0
// A TOML document as a tree of values in the order of the file. The library that reads it stays behind
// toml_adapter.cc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"

namespace millrace::cli {

struct TomlMember;

struct TomlValue {
  enum class Kind { string, integer, number, boolean, other, list, table };
  Kind kind = Kind::table;
  std::string text;  ///< of a scalar, as one would write it, without quotes
  std::vector<TomlValue> items;
  std::vector<TomlMember> members;

  /// The member of that name; null when there is none.
  [[nodiscard]] const TomlValue* find(std::string_view name) const noexcept;
};

struct TomlMember {
  std::string name;
  TomlValue value;
};

/// Fails (config) with file:line:col.
[[nodiscard]] Result<TomlValue> read_toml(const std::string& file);

}  // namespace millrace::cli
