// SPDX-License-Identifier: Apache-2.0
// Substitution: what stands between `${` and `}`, resolved.
#pragma once

#include <string>
#include <string_view>

#include "millrace/config/config.h"

namespace millrace {

/// `NAME`, `NAME:-default` or `NAME:?text`. Fails (config) when the variable is not set, holds a line break, or the
/// form is another; the message holds no value.
[[nodiscard]] Result<std::string> resolve_variable(std::string_view inside, const Config::Environment& environment);

}  // namespace millrace
