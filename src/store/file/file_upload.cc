// SPDX-License-Identifier: Apache-2.0
// FileStore: objects in parts.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "millrace/base/printable.h"
#include "store/checksum/checksum.h"
#include "store/file/file_error.h"
#include "store/file/file_path.h"
#include "store/file/file_put.h"
#include "store/file/file_store.h"
#include "store/file/file_write.h"
#include "store/file/temporary_name.h"
#include "store/file/upload_files.h"
#include "store/upload_rules.h"

namespace millrace {
namespace {

std::unexpected<Error> about(std::string_view path, Error error) {
  return fail(std::move(error).prefixed(printable_key(path) + ": "));
}

std::string token_of(const UploadId& upload) { return upload.key + '\0' + upload.id; }

}  // namespace

Result<UploadId> FileStore::begin_upload(const UploadRequest& request) {
  MILLRACE_ASSIGN(const std::string path, path_for(request.key, ErrorCode::invalid_request));
  MILLRACE_TRY(refuse_settings(path, request.settings));
  const UploadFiles files{std::string(folder_of(path)), TemporaryName::make(context_.random->next())};
  const std::string mark = files.mark();
  MILLRACE_ASSIGN(const Descriptor file, create_in(files.folder, mark));
  Result<void> begun = write_all(file.get(), request.key, mark);
  if (begun) begun = folders_.attend(files.folder);
  if (!begun) {
    ::unlink(mark.c_str());  // nobody knows the id
    return fail(std::move(begun).error());
  }
  return UploadId{request.key, files.id, request.checksum};
}

Result<PartResult> FileStore::put_part(const UploadId& upload, int number, std::string_view body,
                                       std::optional<Duration> /*timeout*/) {
  MILLRACE_ASSIGN(const std::string path, path_for(upload.key, ErrorCode::not_found));
  MILLRACE_ASSIGN(const UploadFiles files, find_files(path, upload));
  if (auto one = check_part_number(number); !one) return about(path, std::move(one).error());
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
  if (auto sound = check_completion(upload.checksum, parts, condition); !sound) {
    return about(path, std::move(sound).error());
  }
  FilePut put{path, "", condition, {}, TemporaryName::make(context_.random->next()), next_stamp()};
  for (const PartResult& part : parts) put.parts.push_back({files.part(part.number), part.etag});
  put.cancelled = &cancelled_;
  auto tag = put_file(put);
  // As with a put, a refusal tells of something durable.
  if (tag || tag.error().code() == ErrorCode::precondition_failed) MILLRACE_TRY(folders_.attend(files.folder));
  if (!tag) return fail(std::move(tag).error());
  // The object is there, whatever becomes of its parts: what stays goes when this process has ended.
  if (auto removed = remove_files(path, upload); !removed) {
    context_.log.warn("the parts of a completed upload cannot be removed", {{"error", removed.error().describe()}});
  }
  return PutResult{*std::move(tag), checksum_of_parts(upload.checksum, parts).value_or("")};
}

Result<void> FileStore::abort_upload(const UploadId& upload) {
  MILLRACE_TRY(going_on());
  if (!is_file_key(upload.key)) return {};
  return remove_files(path_of(root_, upload.key), upload);
}

Result<UploadPage> FileStore::list_uploads(const ListUploadsRequest& request) {
  MILLRACE_TRY(going_on());
  MILLRACE_ASSIGN(std::vector<UploadInfo> found, find_uploads(root_, request.prefix));
  std::erase_if(found, [&](const UploadInfo& info) { return token_of(info.upload) <= request.continuation; });
  std::ranges::sort(found, {}, [](const UploadInfo& info) { return token_of(info.upload); });
  // A folder that a link leads to as well is seen twice.
  const auto twice = std::ranges::unique(found, {}, &UploadInfo::upload);
  found.erase(twice.begin(), twice.end());
  UploadPage page;
  if (found.size() > std::max<std::size_t>(request.max_uploads, 1)) {
    found.resize(std::max<std::size_t>(request.max_uploads, 1));
    page.continuation = token_of(found.back().upload);
  }
  page.uploads = std::move(found);
  return page;
}

}  // namespace millrace
