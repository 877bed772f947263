// SPDX-License-Identifier: Apache-2.0
// The formats a source can frame, by the name they have in YAML. Declared here and defined in formats/, which knows
// them all, so that a connector takes its format without knowing any.
#pragma once

#include <string_view>
#include <vector>

#include "millrace/framing/framer.h"

#pragma GCC visibility push(default)
namespace millrace {

/// Null for an unknown name.
[[nodiscard]] FramerFactory framer_of_format(std::string_view name) noexcept;
/// In the order of the page.
[[nodiscard]] std::vector<std::string_view> framed_formats();

}  // namespace millrace
#pragma GCC visibility pop
