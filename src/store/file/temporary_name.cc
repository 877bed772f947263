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

/// When a process began, in ticks since the boot; 0 when that cannot be told.
std::uint64_t start_of(pid_t pid) {
  const Descriptor file(::open(fmt::format("/proc/{}/stat", pid).c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 1024> text{};
  const ssize_t size = file.valid() ? ::read(file.get(), text.data(), text.size()) : -1;
  if (size <= 0) return 0;
  std::string_view rest(text.data(), static_cast<std::size_t>(size));
  // proc(5): the second field is the program's name in brackets, of any characters; the time is the twenty-second.
  rest.remove_prefix(std::min(rest.rfind(')'), rest.size() - 1));
  for (int field = 2; field < 22; ++field) rest.remove_prefix(std::min(rest.find(' '), rest.size() - 1) + 1);
  std::uint64_t start = 0;
  std::from_chars(rest.data(), rest.data() + rest.size(), start);
  return start;
}

struct Process {
  pid_t pid = 0;
  std::uint64_t start = 0;  // 0: not told
};

/// A number in hexadecimal behind a dash, and a dash behind it.
template <class Number>
bool take_number(std::string_view& name, Number& number) {
  if (!name.starts_with('-')) return false;
  const char* const end = name.data() + name.size();
  const auto read = std::from_chars(name.data() + 1, end, number, 16);
  if (read.ec != std::errc() || number == 0 || read.ptr == end || *read.ptr != '-') return false;
  name.remove_prefix(static_cast<std::size_t>(read.ptr - name.data()));
  return true;
}

/// The process that made `name`, if it ran where this one does.
std::optional<Process> process_here(std::string_view name) {
  name.remove_prefix(kStart.size());
  if (place() == "0" || !name.starts_with(place())) return std::nullopt;
  name.remove_prefix(place().size());
  Process process;
  if (!take_number(name, process.pid) || process.pid < 0) return std::nullopt;
  if (!take_number(name, process.start)) process.start = 0;
  return process;
}

}  // namespace

std::string TemporaryName::make(std::uint64_t unique) {
  const pid_t pid = ::getpid();
  return fmt::format("{}{}-{:x}-{:x}-{:016x}", kStart, place(), pid, start_of(pid), unique);
}

bool TemporaryName::is_one(std::string_view name) { return name.starts_with(kStart); }

std::string_view TemporaryName::id_of(std::string_view name) { return name.substr(0, name.find('.', kStart.size())); }

bool TemporaryName::is_abandoned(std::string_view name, std::int64_t age_seconds) {
  const auto process = process_here(name);
  if (process) {
    if (::kill(process->pid, 0) != 0 && errno == ESRCH) return true;
    const std::uint64_t start = process->start == 0 ? 0 : start_of(process->pid);
    if (start != 0) return start != process->start;
  }
  return age_seconds > kAbandonedAfterSeconds;
}

}  // namespace millrace
