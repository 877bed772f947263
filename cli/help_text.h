// SPDX-License-Identifier: Apache-2.0
// Help texts: what stands around the options of each command. The examples are tried by a test.
#pragma once

#include <string_view>
#include <vector>

namespace millrace::cli {

struct HelpText {
  std::string_view purpose;  ///< one line
  std::vector<std::string_view> usage;
  std::vector<std::string_view> examples;  ///< at least two
  std::string_view footer;
};

/// Of a command by its name; "millrace" is the program itself.
[[nodiscard]] const HelpText& help_of(std::string_view command);

}  // namespace millrace::cli
