// SPDX-License-Identifier: Apache-2.0
// TemporaryName: what the file of a put is called until it gets the object's name:
// `.millrace-put-<where>-<pid>-<random>`, in hexadecimal. <where> stands for the running kernel (its boot id) and the
// pid namespace: only where both are the same does a pid tell whether the put's process still lives.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace millrace {

struct TemporaryName {
  /// How old a file must be whose process nobody here can look for: that of another machine, container or boot.
  static constexpr std::int64_t kAbandonedAfterSeconds = 24 * 60 * 60;

  /// Of this process. `unique` tells its puts apart.
  [[nodiscard]] static std::string make(std::uint64_t unique);
  [[nodiscard]] static bool is_one(std::string_view name);
  /// True when nobody finishes the put any more: its process is certainly gone, or the file is a day old.
  [[nodiscard]] static bool is_abandoned(std::string_view name, std::int64_t age_seconds);
};

}  // namespace millrace
