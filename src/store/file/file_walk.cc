// SPDX-License-Identifier: Apache-2.0
#include "store/file/file_walk.h"

#include <dirent.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "millrace/base/printable.h"
#include "store/file/file_error.h"
#include "store/file/file_path.h"

namespace millrace {
namespace {

struct CloseFolder {
  void operator()(DIR* folder) const noexcept { ::closedir(folder); }
};

}  // namespace

FileWalk::FileWalk(std::string root, std::string prefix, std::string after, Logger log)
    : root_(std::move(root)), prefix_(std::move(prefix)), after_(std::move(after)), log_(std::move(log)) {}

/// True when nothing under `key` (a folder's ends with a slash) is still to come.
bool FileWalk::before_start(std::string_view key) const {
  return !after_.empty() && key <= after_ && !(key.ends_with('/') && after_.starts_with(key));
}

Result<void> FileWalk::begin() {
  begun_ = true;
  const std::string folder(folder_of(prefix_));
  if (!folder.empty() && !is_file_key(folder.substr(0, folder.size() - 1))) return {};  // no file has such a key
  return descend(folder);
}

Result<std::vector<ObjectInfo>> FileWalk::next(std::size_t limit) {
  if (!begun_) MILLRACE_TRY(begin());
  std::vector<ObjectInfo> found;
  while (found.size() < limit && !levels_.empty()) {
    Level& level = levels_.back();
    if (level.position == level.names.size()) {
      levels_.pop_back();
      continue;
    }
    const std::string_view name = level.name(level.names[level.position]);
    std::string key = level.key + std::string(name);
    ++level.position;
    if (before_start(key)) continue;
    if (key.ends_with('/')) {
      MILLRACE_TRY(descend(std::move(key)));
      continue;
    }
    struct stat status{};
    if (::stat(path_of(root_, key).c_str(), &status) != 0) {
      if (errno == ENOENT) continue;  // removed since its folder was read
      return fail(file_error(errno, path_of(root_, key), "be looked at"));
    }
    if (!S_ISREG(status.st_mode)) continue;  // replaced since its folder was read
    found.push_back({std::move(key), static_cast<std::uint64_t>(status.st_size), tag_of(status), modified(status), ""});
  }
  return found;
}

/// Reads the names of a folder that may lead to keys with the prefix. A folder that is not there holds nothing.
Result<void> FileWalk::descend(std::string key) {
  const std::string path = path_of(root_, key);
  const std::unique_ptr<DIR, CloseFolder> folder(::opendir(path.c_str()));
  if (folder == nullptr) {
    if (errno == ENOENT || errno == ENOTDIR) return {};
    return fail(file_error(errno, path, "be listed"));
  }
  Level level;
  struct stat status{};
  if (::fstat(::dirfd(folder.get()), &status) != 0) return fail(file_error(errno, path, "be looked at"));
  level.device = status.st_dev;
  level.inode = status.st_ino;
  for (const Level& above : levels_) {
    if (above.device == level.device && above.inode == level.inode) {
      return fail(
          Error::fatal(ErrorCode::invalid_request,
                       fmt::format("{}: is a symbolic link back to {}, so its listing has no end; remove the link",
                                   printable_key(path), printable(path_of(root_, above.key)))));
    }
  }
  const std::string_view wanted =
      prefix_.size() > key.size() ? std::string_view(prefix_).substr(key.size()) : std::string_view();
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(folder.get());
    if (entry == nullptr) {
      if (errno != 0) return fail(file_error(errno, path, "be listed"));
      break;
    }
    const std::string_view name = entry->d_name;
    if (name.starts_with('.') || !name.starts_with(wanted)) continue;
    bool skip = false;
    MILLRACE_ASSIGN(const bool is_sub, is_folder(key + std::string(name), entry->d_type, skip));
    if (skip) continue;
    level.names.push_back({level.text.size(), static_cast<std::uint32_t>(name.size() + (is_sub ? 1 : 0))});
    level.text.append(name);
    if (is_sub) level.text += '/';
  }
  std::ranges::sort(level.names, {}, [&](const Name& n) { return level.name(n); });
  level.key = std::move(key);
  levels_.push_back(std::move(level));
  return {};
}

/// Sets `skip` for what holds no bytes of its own.
Result<bool> FileWalk::is_folder(const std::string& key, unsigned char type, bool& skip) {
  if (type == DT_DIR) return true;
  if (type == DT_REG) return false;
  const std::string path = path_of(root_, key);
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) {
    const int why = errno;
    struct stat link{};
    if (::lstat(path.c_str(), &link) != 0) {  // removed meanwhile
      skip = true;
      return false;
    }
    if (why == ENOENT) {
      return fail(Error::fatal(
          ErrorCode::not_found,
          fmt::format("{}: is a symbolic link to nothing, so what it stands for cannot be read; repair or remove it",
                      printable_key(path))));
    }
    return fail(file_error(why, path, "be looked at"));
  }
  if (S_ISDIR(status.st_mode)) return true;
  if (S_ISREG(status.st_mode)) return false;
  log_.warn("not a regular file, so it holds no records; skipped", {{"path", printable_key(path)}});
  skip = true;
  return false;
}

}  // namespace millrace
