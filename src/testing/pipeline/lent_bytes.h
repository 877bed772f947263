// SPDX-License-Identifier: Apache-2.0
// LentBytes: the memory a test lane lends for one poll. Taking it back makes later reads visible: ASan reports them,
// and other builds read bytes that no test expects. One lane thread.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::testing {

class LentBytes {
 public:
  LentBytes() = default;
  ~LentBytes();
  LentBytes(const LentBytes&) = delete;
  LentBytes& operator=(const LentBytes&) = delete;

  /// Copies `payloads` into memory of their own and lends them until take_back().
  [[nodiscard]] const std::vector<std::string_view>& lend(const std::vector<std::string>& payloads);
  void take_back();

 private:
  struct Block {
    std::unique_ptr<char[]> memory;
    std::size_t size = 0;
  };
  Block lent_;
  std::vector<std::string_view> views_;
  std::deque<Block> taken_back_;  ///< kept poisoned for a while, so that they are not handed out again at once
};

}  // namespace millrace::testing
