// SPDX-License-Identifier: Apache-2.0
#include "store/file/file_write.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "millrace/base/printable.h"
#include "store/file/file_error.h"
#include "store/file/file_path.h"
#include "store/file/folder_care.h"

namespace millrace {
namespace {

constexpr std::size_t kSlice = 1U << 20U;  // of a part, between two looks at cancel

/// Makes `folder` (with its slash) and what is missing above it, each durable in the folder above.
Result<void> make_folder(const std::string& folder) {
  const std::string above(folder_of(std::string_view(folder).substr(0, folder.size() - 1)));
  const bool made = ::mkdir(folder.c_str(), 0777) == 0;
  const int why = made ? 0 : errno;
  if (why == ENOENT && !above.empty()) {
    MILLRACE_TRY(make_folder(above));
    return make_folder(folder);
  }
  if (!made) {
    struct stat status{};
    if (why != EEXIST) return fail(file_error(why, folder, "be made"));
    if (::stat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
      return fail(file_error(ENOTDIR, folder, "be made"));
    }
  }
  return sync_folder(above);  // also when another put has made it just now and may not have come this far
}

Result<Descriptor> create(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file.valid()) return fail(file_error(errno, path, "be made"));
  return file;
}

}  // namespace

Result<Descriptor> create_in(const std::string& folder, const std::string& path) {
  auto file = create(path);
  if (file || file.error().code() != ErrorCode::not_found) return file;
  MILLRACE_TRY(make_folder(folder));
  return create(path);
}

Result<void> write_all(int file, std::string_view body, std::string_view path) {
  while (!body.empty()) {
    const ssize_t written = ::write(file, body.data(), body.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return fail(file_error(errno, path, "be written"));
    }
    body.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Result<void> append_part(int file, const FilePart& part, std::string_view path, const Atomic<bool>* cancelled) {
  const Descriptor source(::open(part.path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!source.valid() && errno != ENOENT) return fail(file_error(errno, part.path, "be opened"));
  const auto refuse = [&](std::string_view why) {
    return fail(
        Error::fatal(ErrorCode::invalid_request, fmt::format("{}: this part {}", printable_key(part.path), why)));
  };
  if (!source.valid()) return refuse("is missing");
  struct stat status{};
  if (::fstat(source.get(), &status) != 0) return fail(file_error(errno, part.path, "be looked at"));
  if (tag_of(status) != part.etag) return refuse("is another now");
  std::vector<char> buffer(std::clamp<std::size_t>(static_cast<std::size_t>(status.st_size), 1, kSlice));
  while (true) {
    if (cancelled != nullptr && cancelled->load(memory_order_relaxed)) {
      return fail(
          Error::fatal(ErrorCode::cancelled, fmt::format("{}: cancelled: the run is ending", printable_key(path))));
    }
    const ssize_t got = ::read(source.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(file_error(errno, part.path, "be read"));
    if (got == 0) return {};
    MILLRACE_TRY(write_all(file, {buffer.data(), static_cast<std::size_t>(got)}, path));
  }
}

Result<void> stamp(int file, std::int64_t modified_ns, std::string_view path) {
  const timespec time{modified_ns / 1'000'000'000, modified_ns % 1'000'000'000};
  const timespec times[2] = {time, time};
  if (::futimens(file, times) != 0) return fail(file_error(errno, path, "be stamped"));
  return {};
}

Result<ETag> tag_of_open(int file, std::string_view path) {
  struct stat status{};
  if (::fstat(file, &status) != 0) return fail(file_error(errno, path, "be looked at"));
  return tag_of(status);
}

}  // namespace millrace
