// SPDX-License-Identifier: Apache-2.0
// Where the engine calls code that others wrote: sources, lanes, chains, sinks, writers. What they throw ends here, as
// a fatal error that names the caller; it costs nothing while nothing is thrown.
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <type_traits>

#include "millrace/base/result.h"

namespace millrace {

[[nodiscard]] inline Error thrown_error(std::string_view what, const char* text) {
  return Error::fatal(ErrorCode::user_code, std::string(what) + " threw an exception: " + text +
                                                ". Errors are returned, not thrown: this is a mistake in its code");
}

/// Runs `body`, which returns a Result, and turns an exception into its error. `what` is the thing whose code runs.
template <class Body>
[[nodiscard]] auto guarded(std::string_view what, Body&& body) -> std::invoke_result_t<Body> {
  try {
    return body();
  } catch (const std::exception& thrown) {
    return fail(thrown_error(what, thrown.what()));
  } catch (...) {
    return fail(thrown_error(what, "not a std::exception"));
  }
}

/// The same for a body that returns nothing.
template <class Body>
[[nodiscard]] Result<void> guarded_call(std::string_view what, Body&& body) {
  return guarded(what, [&body]() -> Result<void> {
    body();
    return {};
  });
}

}  // namespace millrace
