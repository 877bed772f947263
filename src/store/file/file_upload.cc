// SPDX-License-Identifier: Apache-2.0
// FileStore: objects in parts.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "millrace/base/printable.h"
#include "millrace/store/part_plan.h"
#include "store/checksum/checksum.h"
#include "store/file/file_error.h"
#include "store/file/file_path.h"
#include "store/file/file_put.h"
#include "store/file/file_store.h"
#include "store/file/file_write.h"
#include "store/file/temporary_name.h"

namespace millrace {
namespace {

constexpr std::string_view kMark = ".upload";

/// The files of one upload, in the folder of its object.
struct UploadFiles {
  std::string folder;  ///< with its slash
  std::string id;
  [[nodiscard]] std::string mark() const { return fmt::format("{}{}{}", folder, id, kMark); }
  [[nodiscard]] std::string part(int number) const { return fmt::format("{}{}.{}", folder, id, number); }
};

/// not_found when it has not begun, or has ended. An id that is none of ours must not lead out of the folder.
Result<UploadFiles> find_files(const std::string& path, const UploadId& upload) {
  UploadFiles files{std::string(folder_of(path)), upload.id};
  const bool ours = TemporaryName::is_one(upload.id) && !upload.id.contains('/') && !upload.id.contains('\0');
  if (ours && ::access(files.mark().c_str(), F_OK) == 0) return files;
  return fail(Error::fatal(ErrorCode::not_found, fmt::format("{}: there is no such upload: {}", printable_key(path),
                                                             printable(upload.id, 200))));
}

void remove_files(const UploadFiles& files) {
  ::unlink(files.mark().c_str());  // first: whoever still writes a part sees that the upload is gone
  std::error_code error;
  std::vector<std::filesystem::path> parts;
  for (std::filesystem::directory_iterator at(files.folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().filename().native().starts_with(files.id + ".")) parts.push_back(at->path());
  }
  for (const auto& part : parts) ::unlink(part.c_str());
}

std::unexpected<Error> invalid(std::string_view path, std::string_view why) {
  return fail(Error::fatal(ErrorCode::invalid_request, fmt::format("{}: {}", printable_key(path), why)));
}

Result<std::vector<FilePart>> parts_in_order(const UploadFiles& files, std::span<const PartResult> parts,
                                             std::string_view path) {
  if (parts.empty()) return invalid(path, "an upload is completed with one part at least");
  std::vector<FilePart> ordered;
  for (const PartResult& part : parts) {
    if (part.number <= (&part == parts.data() ? 0 : (&part)[-1].number)) {
      return invalid(path, "the parts are not in ascending order");
    }
    ordered.push_back({files.part(part.number), part.etag, part.size});
  }
  return ordered;
}

std::string token_of(const UploadId& upload) { return upload.key + '\0' + upload.id; }

}  // namespace

Result<UploadId> FileStore::begin_upload(const UploadRequest& request) {
  MILLRACE_ASSIGN(const std::string path, path_for(request.key, ErrorCode::invalid_request));
  MILLRACE_TRY(refuse_settings(path, request.settings));
  const UploadFiles files{std::string(folder_of(path)), TemporaryName::make(context_.random->next())};
  MILLRACE_ASSIGN(const Descriptor mark, create_in(files.folder, files.mark()));
  MILLRACE_TRY(write_all(mark.get(), request.key, files.mark()));
  MILLRACE_TRY(folders_.attend(files.folder));
  return UploadId{request.key, files.id, request.checksum};
}

Result<PartResult> FileStore::put_part(const UploadId& upload, int number, std::string_view body,
                                       std::optional<Duration> /*timeout*/) {
  MILLRACE_ASSIGN(const std::string path, path_for(upload.key, ErrorCode::not_found));
  MILLRACE_ASSIGN(const UploadFiles files, find_files(path, upload));
  if (number < 1 || number > kMostParts) {
    return fail(Error::fatal(ErrorCode::limit, fmt::format("{}: part {}: parts are numbered 1 to {}",
                                                           printable_key(path), number, kMostParts)));
  }
  // Whole before it has its name, so that a completion meets the part before this one or this one. Not durable: the
  // object is made so when it is complete.
  const std::string target = files.part(number);
  const std::string temporary = fmt::format("{}-{:016x}", target, context_.random->next());
  MILLRACE_ASSIGN(const Descriptor file, create_in(files.folder, temporary));
  Result<void> written = write_all(file.get(), body, temporary);
  if (written) written = stamp(file.get(), next_stamp(), temporary);
  if (written && ::rename(temporary.c_str(), target.c_str()) != 0) {
    written = fail(file_error(errno, target, "be replaced"));
  }
  if (!written) {
    ::unlink(temporary.c_str());
    return fail(std::move(written).error());
  }
  MILLRACE_ASSIGN(ETag etag, tag_of_open(file.get(), target));
  if (auto still = find_files(path, upload); !still) {
    ::unlink(target.c_str());
    return fail(std::move(still).error());
  }
  return PartResult{number, body.size(), std::move(etag), checksum_of(upload.checksum, body)};
}

Result<PutResult> FileStore::complete_upload(const UploadId& upload, std::span<const PartResult> parts,
                                             PutCondition condition, std::optional<Duration> /*timeout*/) {
  MILLRACE_ASSIGN(const std::string path, path_for(upload.key, ErrorCode::not_found));
  MILLRACE_ASSIGN(const UploadFiles files, find_files(path, upload));
  if (condition == PutCondition::if_match) return invalid(path, "a completion replaces no exact version");
  FilePut put{path, "", condition, {}, TemporaryName::make(context_.random->next()), next_stamp()};
  MILLRACE_ASSIGN(put.parts, parts_in_order(files, parts, path));
  auto tag = put_file(put);
  // As with a put, a refusal tells of something durable.
  if (tag || tag.error().code() == ErrorCode::precondition_failed) MILLRACE_TRY(folders_.attend(files.folder));
  if (!tag) return fail(std::move(tag).error());
  remove_files(files);
  return PutResult{*std::move(tag), checksum_of_parts(upload.checksum, parts).value_or("")};
}

Result<void> FileStore::abort_upload(const UploadId& upload) {
  MILLRACE_TRY(going_on());
  if (!is_file_key(upload.key)) return {};
  const std::string path = path_of(root_, upload.key);
  const auto files = find_files(path, upload);
  if (files) remove_files(*files);
  return {};
}

Result<UploadPage> FileStore::list_uploads(const ListUploadsRequest& request) {
  MILLRACE_TRY(going_on());
  std::vector<UploadInfo> found;
  std::error_code error;
  const std::filesystem::path top(folder_of(root_ + request.prefix));
  const auto options = std::filesystem::directory_options::skip_permission_denied;
  for (std::filesystem::recursive_directory_iterator at(top, options, error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename().native();
    if (!TemporaryName::is_one(name) || !name.ends_with(kMark)) continue;
    std::ifstream mark(at->path(), std::ios::binary);
    UploadId upload{{std::istreambuf_iterator<char>(mark), {}}, name.substr(0, name.size() - kMark.size())};
    if (upload.key.empty() || !upload.key.starts_with(request.prefix)) continue;
    if (token_of(upload) <= request.continuation) continue;
    struct stat status{};
    const bool there = ::stat(at->path().c_str(), &status) == 0;
    if (there) found.push_back({std::move(upload), modified(status)});
  }
  if (error && error != std::errc::no_such_file_or_directory && error != std::errc::not_a_directory) {
    return fail(file_error(error.value(), top.native(), "be listed"));
  }
  std::ranges::sort(found, {}, [](const UploadInfo& info) { return token_of(info.upload); });
  UploadPage page;
  if (found.size() > std::max<std::size_t>(request.max_uploads, 1)) {
    found.resize(std::max<std::size_t>(request.max_uploads, 1));
    page.continuation = token_of(found.back().upload);
  }
  page.uploads = std::move(found);
  return page;
}

}  // namespace millrace
