// SPDX-License-Identifier: Apache-2.0
#include "millrace/version.h"

namespace millrace {

std::string_view version() noexcept { return MILLRACE_VERSION; }

}  // namespace millrace
