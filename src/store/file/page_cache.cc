// SPDX-License-Identifier: Apache-2.0
#include "store/file/page_cache.h"

#include <linux/magic.h>
#include <sys/uio.h>
#include <sys/vfs.h>

#include <cerrno>

namespace millrace {
namespace {

/// Files of these live in memory only, and their file systems know no RWF_NOWAIT.
bool lives_in_memory(int descriptor) {
  struct statfs system{};
  return ::fstatfs(descriptor, &system) == 0 && (system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC);
}

}  // namespace

bool read_cached(int descriptor, std::span<char> destination, std::uint64_t offset) {
  int flags = RWF_NOWAIT;
  for (std::size_t received = 0; received < destination.size();) {
    const iovec rest{destination.data() + received, destination.size() - received};
    const ssize_t got = ::preadv2(descriptor, &rest, 1, static_cast<off_t>(offset + received), flags);
    if (got > 0) {
      received += static_cast<std::size_t>(got);
    } else if (got < 0 && errno == EOPNOTSUPP && flags != 0 && lives_in_memory(descriptor)) {
      flags = 0;
    } else if (got == 0 || errno != EINTR) {
      return false;
    }
  }
  return true;
}

}  // namespace millrace
