// SPDX-License-Identifier: Apache-2.0
// Where exceptions of user code end.
#include <cxxabi.h>

#include <cstdlib>
#include <exception>
#include <memory>
#include <typeinfo>

#include "millrace/pipeline/chain_core.h"

namespace millrace {
namespace {

std::string type_name(const std::exception& error) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(typeid(error).name(), nullptr, nullptr, &status), &std::free);
  return name ? name.get() : typeid(error).name();
}

}  // namespace

std::optional<std::string> call_user_code(void (*body)(void* state), void* state) {
  try {
    body(state);
    return std::nullopt;
  } catch (const std::exception& error) {
    return type_name(error) + " (\"" + error.what() + "\")";
  } catch (...) {
    return "something that is no std::exception";
  }
}

}  // namespace millrace
