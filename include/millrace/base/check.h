// SPDX-License-Identifier: Apache-2.0
// Checks for bugs of the program itself; they stay on in release builds. Bad input and failed I/O are Results, never
// checks.
#pragma once

#pragma GCC visibility push(default)
namespace millrace {

/// Prints the message to stderr and aborts. Thread-safe.
[[noreturn]] void check_failed(const char* condition, const char* file, int line, const char* message) noexcept;

}  // namespace millrace
#pragma GCC visibility pop

/// Aborts with file, line and `message` (a string literal: what the reader should know) when `condition` is false.
#define MILLRACE_CHECK(condition, message) \
  (static_cast<bool>(condition) ? void(0) : ::millrace::check_failed(#condition, __FILE__, __LINE__, message))
