// SPDX-License-Identifier: Apache-2.0
// The one place where errno becomes an Error with a class.
#pragma once

#include <string_view>

#include "millrace/base/error.h"

namespace millrace {

/// `doing` completes "<path>: cannot ": "be opened". Writing turns the names of missing folders into bad requests.
[[nodiscard]] Error file_error(int error_number, std::string_view path, std::string_view doing);

}  // namespace millrace
