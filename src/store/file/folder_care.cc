// SPDX-License-Identifier: Apache-2.0
#include "store/file/folder_care.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/printable.h"
#include "millrace/base/time.h"
#include "store/file/descriptor.h"
#include "store/file/file_error.h"
#include "store/file/file_path.h"
#include "store/file/temporary_name.h"

namespace millrace {
namespace {

struct CloseFolder {
  void operator()(DIR* folder) const noexcept { ::closedir(folder); }
};

/// Up to the mount point, or to a folder that this process may not open and so has not made. A file system that cannot
/// sync a folder says EINVAL, and has nothing to sync.
Result<void> sync_above(std::string folder) {
  struct stat here{};
  if (::stat(folder.c_str(), &here) != 0) return fail(file_error(errno, folder, "be looked at"));
  while (folder.size() > 1) {
    folder = folder_of(std::string_view(folder).substr(0, folder.size() - 1));
    const Descriptor above(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!above.valid() && (errno == EACCES || errno == EPERM)) return {};
    struct stat status{};
    if (!above.valid() || ::fstat(above.get(), &status) != 0) return fail(file_error(errno, folder, "be opened"));
    if (status.st_dev != here.st_dev) return {};
    if (::fsync(above.get()) != 0 && errno != EINVAL) return fail(file_error(errno, folder, "be made durable"));
  }
  return {};
}

std::vector<std::string> abandoned_in(const std::string& path) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, CloseFolder> folder(::opendir(path.c_str()));
  if (folder == nullptr) return names;                           // writable, not readable: nobody can look
  std::map<std::string, std::int64_t, std::less<>> last_change;  // of anything with the id
  while (const dirent* entry = ::readdir(folder.get())) {  // NOLINT(concurrency-mt-unsafe): a stream of this thread
    const std::string_view name(static_cast<const char*>(entry->d_name));
    if (!TemporaryName::is_one(name)) continue;
    struct stat status{};
    if (::fstatat(::dirfd(folder.get()), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (!S_ISREG(status.st_mode)) continue;
    // The time of the last change is the kernel's; the file's own time is the put's to set.
    const std::int64_t change = status.st_ctim.tv_sec;
    const auto [at, first] = last_change.emplace(TemporaryName::id_of(name), change);
    if (!first) at->second = std::max(at->second, change);
    names.emplace_back(name);
  }
  const std::int64_t now = Clock::real().unix_micros() / 1'000'000;
  std::erase_if(names, [&](const std::string& name) {
    return !TemporaryName::is_abandoned(name, now - last_change.find(TemporaryName::id_of(name))->second);
  });
  return names;
}

}  // namespace

Result<void> sync_folder(const std::string& folder) {
  const Descriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!descriptor.valid()) return fail(file_error(errno, folder, "be opened"));
  if (::fsync(descriptor.get()) != 0) return fail(file_error(errno, folder, "be made durable"));
  return {};
}

Result<void> FolderCare::attend(const std::string& folder) {
  {
    const MutexLock lock(mutex_);
    if (done_.contains(folder)) return {};
  }
  MILLRACE_TRY(sync_above(folder));
  std::size_t removed = 0;
  for (const std::string& name : abandoned_in(folder)) {
    if (::unlink((folder + name).c_str()) == 0) ++removed;
  }
  if (removed > 0) {
    log_.info("removed temporary files that an earlier process left",
              {{"folder", printable_key(folder)}, {"files", std::to_string(removed)}});
  }
  const MutexLock lock(mutex_);  // not before: another put must not rely on what is still under way
  if (done_.size() >= kRemembered) done_.clear();
  done_.insert(folder);
  return {};
}

}  // namespace millrace
