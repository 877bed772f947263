// SPDX-License-Identifier: Apache-2.0
#include "tests/iggy_rig/capture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <fstream>

namespace millrace::iggy_rig {

std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    int byte = 0;
    std::from_chars(hex.data() + i, hex.data() + i + 2, byte, 16);
    bytes.push_back(static_cast<char>(byte));
  }
  return bytes;
}

std::string to_hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  for (const char byte : bytes) {
    hex.push_back(kDigits[static_cast<unsigned char>(byte) >> 4U]);
    hex.push_back(kDigits[static_cast<unsigned char>(byte) & 15U]);
  }
  return hex;
}

std::vector<Exchange> read_capture(const std::string& name) {
  std::ifstream file(MILLRACE_TEST_SOURCE "/tests/iggy_fake_server/captures/" + name + ".txt");
  EXPECT_TRUE(file.is_open()) << name;
  std::vector<Exchange> all;
  std::string title;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("# =")) continue;  // how the recorder read it
    if (line.starts_with("# ")) title = line.substr(2);
    if (line.starts_with("> ")) all.push_back({title, from_hex(line.substr(2)), {}});
    if (line.starts_with("< ") && !all.empty()) all.back().reply = from_hex(line.substr(2));
  }
  return all;
}

Exchange find_exchange(const std::vector<Exchange>& capture, std::string_view title) {
  const auto found = std::ranges::find(capture, title, &Exchange::title);
  if (found == capture.end()) {
    ADD_FAILURE() << "no exchange '" << title << "' was recorded";
    return {};
  }
  return *found;
}

}  // namespace millrace::iggy_rig
