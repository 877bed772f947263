// SPDX-License-Identifier: Apache-2.0
#include "store/file/upload_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "millrace/base/printable.h"
#include "store/file/descriptor.h"
#include "store/file/file_error.h"
#include "store/file/file_path.h"
#include "store/file/temporary_name.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMark = ".upload";

/// An id that is none of ours must not lead out of the folder.
bool is_ours(std::string_view id) { return TemporaryName::is_one(id) && !id.contains('/') && !id.contains('\0'); }

bool is_gone(const std::error_code& error) {
  return error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory;
}

Result<void> remove_one(const std::string& path) {
  if (::unlink(path.c_str()) == 0 || errno == ENOENT || errno == ENOTDIR) return {};
  return fail(file_error(errno, path, "be removed"));
}

/// The upload that `mark` is of; nothing when it has ended meanwhile, or has not quite begun.
Result<std::optional<UploadInfo>> read_mark(const std::string& mark) {
  struct stat status{};
  const Descriptor file(::open(mark.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid() || ::fstat(file.get(), &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    return fail(file_error(errno, mark, "be read"));
  }
  std::string key(PATH_MAX, '\0');  // a longer one names no file
  const ssize_t size = ::read(file.get(), key.data(), key.size());
  if (size < 0) return fail(file_error(errno, mark, "be read"));
  if (size == 0) return std::nullopt;
  key.resize(static_cast<std::size_t>(size));
  std::string id = fs::path(mark).filename().native();
  id.resize(id.size() - kMark.size());
  return UploadInfo{{std::move(key), std::move(id)}, modified(status)};
}

class Search {
 public:
  Search(std::string_view prefix, std::vector<UploadInfo>& found) : prefix_(prefix), found_(found) {}

  /// `key`: of the folder, with its slash; empty for the root.
  Result<void> look_into(const std::string& folder, const std::string& key) {
    struct stat here{};
    if (::stat(folder.c_str(), &here) != 0) {
      if (errno == ENOENT || errno == ENOTDIR) return {};
      return fail(file_error(errno, folder, "be looked at"));
    }
    const auto same = [&](const struct stat& above) {
      return above.st_dev == here.st_dev && above.st_ino == here.st_ino;
    };
    if (std::ranges::any_of(above_, same)) return {};  // a link back: what is there is found there
    above_.push_back(here);
    const std::string_view wanted = prefix_.substr(std::min(key.size(), prefix_.size()));
    std::error_code error;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
      const std::string& path = at->path().native();
      // Neither a folder on the way to the prefix or below it, nor a mark, which bears a name of its own.
      const std::string below = at->path().filename().native() + "/";
      if (!below.starts_with(wanted) && !wanted.starts_with(below) && !below.starts_with('.')) continue;
      if (at->is_directory(error)) {
        if (below.starts_with(wanted) || wanted.starts_with(below)) MILLRACE_TRY(look_into(path, key + below));
      } else if (!error || is_gone(error)) {
        MILLRACE_TRY(look_at(path));
      }
      // Gone since its name was read, or a link to nothing.
      if (is_gone(error)) error.clear();
      if (error) return fail(file_error(error.value(), path, "be looked at"));
    }
    if (error && !is_gone(error)) return fail(file_error(error.value(), folder, "be listed"));
    above_.pop_back();
    return {};
  }

 private:
  Result<void> look_at(const std::string& path) {
    const std::string name = fs::path(path).filename().native();
    if (!TemporaryName::is_one(name) || !name.ends_with(kMark)) return {};
    MILLRACE_ASSIGN(std::optional<UploadInfo> upload, read_mark(path));
    if (upload && upload->upload.key.starts_with(prefix_)) found_.push_back(*std::move(upload));
    return {};
  }

  const std::string_view prefix_;
  std::vector<UploadInfo>& found_;
  std::vector<struct stat> above_;
};

}  // namespace

std::string UploadFiles::mark() const { return fmt::format("{}{}{}", folder, id, kMark); }
std::string UploadFiles::part(int number) const { return fmt::format("{}{}.{}", folder, id, number); }

Result<UploadFiles> find_files(const std::string& path, const UploadId& upload) {
  UploadFiles files{std::string(folder_of(path)), upload.id};
  if (is_ours(upload.id)) {
    const std::string mark = files.mark();
    if (::access(mark.c_str(), F_OK) == 0) return files;
    if (errno != ENOENT && errno != ENOTDIR) return fail(file_error(errno, mark, "be looked at"));
  }
  return fail(Error::fatal(
      ErrorCode::not_found,
      fmt::format("{}: there is no such upload: {}; it was completed or aborted: look for the object, else upload it "
                  "again",
                  printable_key(path), printable(upload.id, 200))));
}

Result<void> remove_files(const std::string& path, const UploadId& upload) {
  if (!is_ours(upload.id)) return {};
  const UploadFiles files{std::string(folder_of(path)), upload.id};
  MILLRACE_TRY(remove_one(files.mark()));  // first: whoever still writes a part sees that the upload is gone
  std::error_code error;
  std::vector<std::string> parts;
  for (fs::directory_iterator at(files.folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().filename().native().starts_with(files.id + ".")) parts.push_back(at->path().native());
  }
  if (error && !is_gone(error)) return fail(file_error(error.value(), files.folder, "be listed"));
  for (const std::string& part : parts) MILLRACE_TRY(remove_one(part));
  return {};
}

Result<std::vector<UploadInfo>> find_uploads(const std::string& root, std::string_view prefix) {
  std::vector<UploadInfo> found;
  const std::string folder(folder_of(prefix));
  if (!folder.empty() && !is_file_key(folder.substr(0, folder.size() - 1))) return found;  // no file has such a key
  MILLRACE_TRY(Search(prefix, found).look_into(path_of(root, folder), folder));
  return found;
}

}  // namespace millrace
