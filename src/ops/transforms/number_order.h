// SPDX-License-Identifier: Apache-2.0
// Numbers of JSON compared by their worth, exactly, however large or long they are. Stateless.
#pragma once

#include <compare>
#include <string_view>

namespace millrace::transforms {

/// Both are numbers as JSON spells them. 1, 1.0, 10e-1 and 0.1E1 are equal; so are 0 and -0. Exponents of more than 17
/// digits count as if they were all equally large.
[[nodiscard]] std::strong_ordering compare_numbers(std::string_view a, std::string_view b) noexcept;

}  // namespace millrace::transforms
