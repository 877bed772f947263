// SPDX-License-Identifier: Apache-2.0
// TemporaryName: what the file of a put is called until it gets the object's name:
// `.millrace-put-<where>-<pid>-<start>-<random>`, in hexadecimal. <where> stands for the running kernel (its boot id)
// and the pid namespace: only where both are the same does a pid tell whether the put's process still lives. A pid
// comes again; with the time at which its process began (in ticks since the boot) it does not.
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
  /// What the files of one upload have in common: the name up to their own ending, with which every other is whole.
  [[nodiscard]] static std::string_view id_of(std::string_view name);
  /// True when nobody finishes the put any more: its process is certainly gone, or it may be and a day has passed.
  [[nodiscard]] static bool is_abandoned(std::string_view name, std::int64_t age_seconds);
};

}  // namespace millrace
