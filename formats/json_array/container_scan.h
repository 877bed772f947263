// SPDX-License-Identifier: Apache-2.0
// ContainerScan: where does this JSON object or array end. Looks at brackets, quotes and backslashes only, 64 bytes at
// a time; what else is in there is the decoder's to judge. A value that holds how far it got; copying it is cheap.
#pragma once

#include <cstddef>
#include <cstdint>

namespace millrace::json_array {

class ContainerScan {
 public:
  /// Goes on over the container's next `size` bytes (the first of all is its opening bracket) and returns how many of
  /// them belong to it: fewer than `size`, or closed(), once its end is found. Up to 63 bytes behind the range are
  /// read.
  [[nodiscard]] std::size_t scan(const char* bytes, std::size_t size);
  /// The closing bracket was seen.
  [[nodiscard]] bool closed() const noexcept { return closed_; }

 private:
  std::uint64_t depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;  ///< the next byte is, by the backslash before it
  bool closed_ = false;
};

}  // namespace millrace::json_array
