// SPDX-License-Identifier: Apache-2.0
// JsonKeys: are an object's keys all different, at every depth at once. Keys are compared by what they say ("a" and
// "\u0061" are one key). Memory grows with the largest document and is kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "millrace/base/bytes.h"

namespace millrace {

class JsonKeys {
 public:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  /// A new document of `size` bytes.
  void begin(std::size_t size);
  void open_object() { opened_.push_back(keys_.size()); }
  /// `raw` as it stands between the quotes, at byte `at`.
  void add(std::string_view raw, std::size_t at, bool may_have_escapes);
  void close_object();
  /// Where a key stands that its object had already; kNone when there is none so far.
  [[nodiscard]] std::size_t repeated() const noexcept { return repeated_; }

 private:
  struct Key {
    std::uint64_t hash;
    std::string_view text;
    std::size_t at;
  };
  void search(std::size_t first);

  std::vector<Key> keys_;  ///< of the open objects, outermost first
  std::vector<std::size_t> opened_;
  ByteBuffer unescaped_;
  std::size_t repeated_ = kNone;
};

}  // namespace millrace
