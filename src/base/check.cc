// SPDX-License-Identifier: Apache-2.0
#include "millrace/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace millrace {

void check_failed(const char* condition, const char* file, int line, const char* message) noexcept {
  std::fprintf(stderr, "millrace: bug: %s (%s is false at %s:%d). Please report this with the lines above it.\n",
               message, condition, file, line);
  std::abort();
}

}  // namespace millrace
