// SPDX-License-Identifier: Apache-2.0
// Sessions of real servers as they were recorded: for each exchange its title, the request's bytes and the reply's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace millrace::iggy_rig {

struct Exchange {
  std::string title;
  std::string request;
  std::string reply;
};

/// A whole file of tests/iggy_fake_server/captures: "classic-0.8.0", "vsr-0.9.0-edge.5".
[[nodiscard]] std::vector<Exchange> read_capture(const std::string& name);
/// The exchange of this title; fails the test when there is none.
[[nodiscard]] Exchange find_exchange(const std::vector<Exchange>& capture, std::string_view title);
[[nodiscard]] std::string from_hex(std::string_view hex);
[[nodiscard]] std::string to_hex(std::string_view bytes);

}  // namespace millrace::iggy_rig
