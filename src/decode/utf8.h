// SPDX-License-Identifier: Apache-2.0
// Is it UTF-8, at the speed of the hot path; where it is not, base/utf8.h says. Stateless.
#pragma once

#include <string_view>

namespace millrace {

[[nodiscard]] bool is_utf8(std::string_view bytes) noexcept;

}  // namespace millrace
