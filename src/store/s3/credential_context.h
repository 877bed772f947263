// SPDX-License-Identifier: Apache-2.0
// CredentialContext: what a source of credentials needs to ask others for them. A value; `loop` and `clock` outlive
// every source made with it.
#pragma once

#include <functional>
#include <string>

#include "millrace/base/time.h"
#include "store/s3/http_loop.h"

namespace millrace::s3 {

/// Gives a variable of the environment, empty when not set. A test passes its own.
using Environment = std::function<std::string(const char*)>;

struct CredentialContext {
  HttpLoop* loop = nullptr;
  Clock* clock = nullptr;
  Environment environment;
  std::string region;       ///< whose STS is asked where a profile names none
  bool allow_http = false;  ///< of an STS on another machine
};

}  // namespace millrace::s3
