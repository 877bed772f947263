// SPDX-License-Identifier: Apache-2.0
// Result<T>: a value or an Error. What every function returns that can fail in normal operation; exceptions do not
// cross a seam.
#pragma once

#include <expected>
#include <type_traits>
#include <utility>

#include "millrace/base/error.h"

#pragma GCC visibility push(default)
namespace millrace {

template <class T = void>
using Result = std::expected<T, Error>;

/// `return fail(Error::fatal(...));` from any function that returns a Result.
[[nodiscard]] inline std::unexpected<Error> fail(Error error) { return std::unexpected<Error>(std::move(error)); }

}  // namespace millrace
#pragma GCC visibility pop

#define MILLRACE_CONCAT_INNER(a, b) a##b
#define MILLRACE_CONCAT(a, b) MILLRACE_CONCAT_INNER(a, b)

/// Evaluates a Result expression for its success; returns its error from the enclosing function otherwise.
#define MILLRACE_TRY(expression)                                                         \
  do {                                                                                   \
    auto millrace_try_result = (expression);                                             \
    if (!millrace_try_result) [[unlikely]] {                                             \
      return std::unexpected<::millrace::Error>(std::move(millrace_try_result).error()); \
    }                                                                                    \
  } while (false)

/// `MILLRACE_ASSIGN(auto page, store.list(request));` binds the value or returns the error from the enclosing function.
#define MILLRACE_ASSIGN(declaration, expression) \
  MILLRACE_ASSIGN_INNER(MILLRACE_CONCAT(millrace_result_, __LINE__), declaration, expression)
#define MILLRACE_ASSIGN_INNER(name, declaration, expression)            \
  auto name = (expression);                                             \
  if (!name) [[unlikely]] {                                             \
    return std::unexpected<::millrace::Error>(std::move(name).error()); \
  }                                                                     \
  declaration = *std::move(name)
