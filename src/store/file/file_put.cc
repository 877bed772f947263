// SPDX-License-Identifier: Apache-2.0
#include "store/file/file_put.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <optional>
#include <utility>

#include "millrace/base/printable.h"
#include "store/file/descriptor.h"
#include "store/file/file_error.h"
#include "store/file/file_path.h"
#include "store/file/file_write.h"
#include "store/file/folder_care.h"

namespace millrace {
namespace {

constexpr const char* kLockName = ".millrace-lock";

/// The folder's lock: whoever replaces or removes holds it, over all processes. Only those who look first make it, so
/// that folders of plain output stay free of it; the others have nobody to wait for while there is none.
Result<Descriptor> lock_folder(const std::string& folder, bool make) {
  const std::string path = folder + kLockName;
  Descriptor lock(::open(path.c_str(), O_RDWR | O_CLOEXEC | (make ? O_CREAT : 0), 0666));
  if (!lock.valid() && errno == ENOENT && !make) return lock;
  if (!lock.valid()) return fail(file_error(errno, path, "be opened"));
  while (::flock(lock.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return fail(file_error(errno, path, "be locked"));
  }
  return lock;
}

/// Makes what has the name now durable. A caller who finds his own bytes there takes them for written, but whoever
/// wrote them may have died between the rename and the sync of the folder, or be no put at all.
Result<void> sync_existing(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.valid() && ::fsync(file.get()) != 0 && errno != EINVAL) {
    return fail(file_error(errno, path, "be made durable"));
  }
  return sync_folder(std::string(folder_of(path)));  // also when it is gone again or may not be read
}

/// The refusal of a put whose condition does not hold.
std::unexpected<Error> refuse(const std::string& path, std::string text) {
  if (auto synced = sync_existing(path); !synced) return fail(std::move(synced).error());
  return fail(Error::fatal(ErrorCode::precondition_failed, fmt::format("{}: {}", printable_key(path), text)));
}
std::unexpected<Error> already_there(const std::string& path) { return refuse(path, "exists already"); }

/// A rename would replace a device, a FIFO or a link by a plain file, and whoever uses it would go on with the old one.
Result<void> check_replaceable(const std::string& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)) return {};
  const bool link = S_ISLNK(status.st_mode);
  return fail(Error::fatal(ErrorCode::already_exists,
                           fmt::format("{}: is {}, which a put would replace; {}", printable_key(path),
                                       link ? "a symbolic link" : "a device, a pipe or a socket",
                                       link ? "name the file that it leads to" : "name a file of its own")));
}

/// Gives the finished temporary file its name, if the condition holds.
Result<void> place(const std::string& temporary, const std::string& path, const FilePut& put) {
  MILLRACE_TRY(check_replaceable(path));
  if (put.condition == PutCondition::if_absent) {
    if (::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0) return {};
    if (errno == EEXIST) return already_there(path);
    if (errno != EINVAL && errno != ENOSYS) return fail(file_error(errno, path, "be made"));
  }
  // Every step that replaces something holds the lock, or an if_match could overwrite what it has not seen.
  MILLRACE_ASSIGN(const Descriptor lock,
                  lock_folder(std::string(folder_of(path)), put.condition != PutCondition::none));
  if (put.condition != PutCondition::none) {
    struct stat status{};
    const bool there = ::stat(path.c_str(), &status) == 0;
    if (!there && errno != ENOENT) return fail(file_error(errno, path, "be looked at"));
    if (put.condition == PutCondition::if_absent && there) return already_there(path);
    if (put.condition == PutCondition::if_match && (!there || tag_of(status) != put.etag)) {
      return refuse(path, fmt::format("is not the version that was to be replaced: its ETag is {}, not {}",
                                      there ? tag_of(status).value : "none", put.etag.value));
    }
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) return fail(file_error(errno, path, "be replaced"));
  return {};
}

Result<ETag> fill(const Descriptor& file, const FilePut& put, const std::string& temporary) {
  MILLRACE_TRY(write_all(file.get(), put.body, temporary));
  for (const FilePart& part : put.parts) MILLRACE_TRY(append_part(file.get(), part, temporary, put.cancelled));
  MILLRACE_TRY(stamp(file.get(), put.modified_ns, temporary));
  if (::fsync(file.get()) != 0) return fail(file_error(errno, temporary, "be made durable"));
  return tag_of_open(file.get(), temporary);
}

}  // namespace

Result<ETag> put_file(const FilePut& put) {
  const std::string path(put.path);
  const std::string folder(folder_of(put.path));
  const std::string temporary = folder + put.temporary;
  MILLRACE_ASSIGN(const Descriptor file, create_in(folder, temporary));
  auto tag = fill(file, put, temporary);
  Result<void> placed;
  if (tag) placed = place(temporary, path, put);
  if (!tag || !placed) {
    ::unlink(temporary.c_str());
    return fail(tag ? std::move(placed).error() : std::move(tag).error());
  }
  MILLRACE_TRY(sync_folder(folder));
  return tag;
}

Result<void> remove_file(std::string_view name) {
  const std::string path(name);
  const std::string folder(folder_of(name));
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0 && (errno == ENOENT || errno == ENOTDIR)) return {};
  if (!S_ISREG(status.st_mode)) return {};  // what is no file is no object
  {
    MILLRACE_ASSIGN(const Descriptor lock, lock_folder(folder, false));
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) return fail(file_error(errno, path, "be removed"));
  }
  return sync_folder(folder);
}

}  // namespace millrace
