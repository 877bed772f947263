// SPDX-License-Identifier: Apache-2.0
#include "store/file/temporary_name.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <optional>

#include "store/file/descriptor.h"

namespace millrace {
namespace {

constexpr std::string_view kStart = ".millrace-put-";

/// Of the running kernel and the pid namespace; "0" when they cannot be told, and then no pid is trusted.
std::string find_place() {
  const Descriptor file(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  std::array<char, 64> text{};
  const ssize_t size = file.valid() ? ::read(file.get(), text.data(), text.size()) : -1;
  struct stat status{};
  if (size < 36 || ::stat("/proc/self/ns/pid", &status) != 0) return "0";
  std::string id(text.data(), 36);
  std::erase(id, '-');
  return fmt::format("{}{:x}", id, status.st_ino);
}

const std::string& place() {
  static const std::string found = find_place();
  return found;
}

/// The process that made `name`, if it ran where this one does.
std::optional<pid_t> process_here(std::string_view name) {
  name.remove_prefix(kStart.size());
  if (place() == "0" || !name.starts_with(place())) return std::nullopt;
  name.remove_prefix(place().size());
  pid_t pid = 0;
  const char* const end = name.data() + name.size();
  if (!name.starts_with('-')) return std::nullopt;
  const auto read = std::from_chars(name.data() + 1, end, pid, 16);
  if (read.ec != std::errc() || pid <= 0 || read.ptr == end || *read.ptr != '-') return std::nullopt;
  return pid;
}

}  // namespace

std::string TemporaryName::make(std::uint64_t unique) {
  return fmt::format("{}{}-{:x}-{:016x}", kStart, place(), ::getpid(), unique);
}

bool TemporaryName::is_one(std::string_view name) { return name.starts_with(kStart); }

bool TemporaryName::is_abandoned(std::string_view name, std::int64_t age_seconds) {
  const auto pid = process_here(name);
  if (pid && ::kill(*pid, 0) != 0 && errno == ESRCH) return true;
  return age_seconds > kAbandonedAfterSeconds;
}

}  // namespace millrace
