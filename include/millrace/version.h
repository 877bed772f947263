// SPDX-License-Identifier: Apache-2.0
// Which Millrace this is: of these headers by macros, of the library that is linked by a function. The one place where
// the version is kept; CMakeLists.txt reads it here. What a version promises: docs/ABI.md.
#pragma once

#include <string_view>

#define MILLRACE_VERSION_MAJOR 0
#define MILLRACE_VERSION_MINOR 1
#define MILLRACE_VERSION_PATCH 0

/// The three in one number that grows with them: 0.1.0 is 100, 1.2.3 is 10203.
#define MILLRACE_VERSION_NUMBER (MILLRACE_VERSION_MAJOR * 10000 + MILLRACE_VERSION_MINOR * 100 + MILLRACE_VERSION_PATCH)

#define MILLRACE_VERSION_QUOTE_(x) #x
#define MILLRACE_VERSION_TEXT_(major, minor, patch) \
  MILLRACE_VERSION_QUOTE_(major) "." MILLRACE_VERSION_QUOTE_(minor) "." MILLRACE_VERSION_QUOTE_(patch)
/// The same as a string literal: "0.1.0".
#define MILLRACE_VERSION MILLRACE_VERSION_TEXT_(MILLRACE_VERSION_MAJOR, MILLRACE_VERSION_MINOR, MILLRACE_VERSION_PATCH)

#pragma GCC visibility push(default)
namespace millrace {

/// Of the library that runs, which a shared one may give in another patch than MILLRACE_VERSION says. Any thread; the
/// text lives as long as the program.
[[nodiscard]] std::string_view version() noexcept;

}  // namespace millrace
#pragma GCC visibility pop
