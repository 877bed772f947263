// SPDX-License-Identifier: Apache-2.0
// For tests of the client: options for a fake server, with waits that a test can afford.
#pragma once

#include "millrace/iggy_client/client.h"

namespace millrace::iggy {

inline ClientOptions options_for(const std::string& address) {
  ClientOptions options;
  options.address = address;
  options.credentials.username = "iggy";
  options.credentials.password = "iggy";
  options.reconnect = {std::chrono::milliseconds(1), std::chrono::milliseconds(20), 2.0};
  return options;
}

inline SteadyTime soon() { return Clock::real().now() + std::chrono::seconds(30); }

}  // namespace millrace::iggy
