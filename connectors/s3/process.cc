// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/process.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <sstream>
#include <string>

namespace millrace::s3_source {
namespace {

std::string first_line(const std::string& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

/// Boot and pid namespace: pids mean the same to two processes only when both agree. Empty where /proc tells neither.
std::string pid_world() {
  const std::string boot = first_line("/proc/sys/kernel/random/boot_id");
  std::array<char, 64> link{};
  const auto size = ::readlink("/proc/self/ns/pid", link.data(), link.size());
  if (boot.empty() || size <= 0) return {};
  return boot + '/' + std::string(link.data(), static_cast<std::size_t>(size));
}

/// When the process began, in clock ticks since boot; empty when it is not there (or only its body is).
std::string start_of(std::uint64_t pid) {
  const std::string stat = first_line(fmt::format("/proc/{}/stat", pid));
  // The command's name stands in parentheses and may hold anything; the state and 19 more fields follow.
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream fields(stat.substr(name_end + 1));
  std::string field;
  fields >> field;
  if (field == "Z" || field == "X") return {};
  for (int i = 0; i < 19; ++i) fields >> field;
  return field;
}

}  // namespace

Owner this_process(Clock& clock, Random& random) {
  Owner owner;
  owner.id = fmt::format("{:016x}{:016x}", random.next(), random.next());
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) == 0) owner.host = host.data();
  owner.pid = static_cast<std::uint64_t>(::getpid());
  owner.process = pid_world() + '/' + start_of(owner.pid);
  owner.started = clock.unix_micros();
  owner.heartbeat = owner.started;
  return owner;
}

bool is_gone(const Owner& owner) {
  const std::string world = pid_world();
  if (world.empty() || !owner.process.starts_with(world + '/')) return false;
  return start_of(owner.pid) != owner.process.substr(world.size() + 1);
}

}  // namespace millrace::s3_source
