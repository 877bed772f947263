// SPDX-License-Identifier: Apache-2.0
// MemoryStore: objects in parts.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "millrace/base/printable.h"
#include "millrace/testing/memory_store.h"
#include "store/checksum/checksum.h"
#include "store/upload_rules.h"

namespace millrace::testing {
namespace {

std::unexpected<Error> invalid(std::string message) {
  return fail(Error::fatal(ErrorCode::invalid_request, std::move(message)));
}

}  // namespace

Result<UploadId> MemoryStore::begin_upload(const UploadRequest& request) {
  const MutexLock lock(mutex_);
  if (cancelled_) return fail(cancelled());
  requests_.push_back({.op = StoreOp::begin_upload, .key = request.key});
  if (request.key.empty()) return invalid(options_.name + ": an object needs a key");
  const std::string id = fmt::format("up+load/{:08}==", ++begun_uploads_);
  uploads_.emplace(
      id, Upload{request.key,
                 {request.content_type, request.content_encoding, request.metadata, request.settings, request.checksum},
                 options_.clock->unix_micros(),
                 {}});
  return UploadId{request.key, id, request.checksum};
}

Result<MemoryStore::Uploads::iterator> MemoryStore::find_upload(const UploadId& upload, StoreRequest request) {
  if (cancelled_) return fail(cancelled());
  requests_.push_back(std::move(request));
  const auto found = uploads_.find(upload.id);
  if (found != uploads_.end() && found->second.key == upload.key) return found;
  return fail(Error::fatal(ErrorCode::not_found,
                           fmt::format("{}there is no such upload: {}", name_of(upload.key), printable(upload.id))));
}

Result<PartResult> MemoryStore::put_part(const UploadId& upload, int number, std::string_view body,
                                         std::optional<Duration> /*timeout*/) {
  const MutexLock lock(mutex_);
  MILLRACE_ASSIGN(
      const auto found,
      find_upload(upload, {.op = StoreOp::put_part, .key = upload.key, .size = body.size(), .part = number}));
  if (auto one = check_part_number(number, options_.most_parts); !one) {
    return fail(std::move(one).error().prefixed(name_of(upload.key)));
  }
  // A part that is put again is another one, also where objects have no tags.
  Part part{std::string(body), tag_of(body), checksum_of(found->second.asked.checksum, body)};
  ++parts_put_;
  if (part.etag.empty()) part.etag.value = fmt::format("\"{:x}\"", parts_put_);
  PartResult result{number, body.size(), part.etag, part.checksum};
  found->second.parts.insert_or_assign(number, std::move(part));
  return result;
}

std::string MemoryStore::name_of(std::string_view key) const {
  return fmt::format("{}/{}: ", options_.name, printable_key(key));
}

Result<std::string> MemoryStore::join(const Upload& upload, std::span<const PartResult> parts) const {
  const std::string name = name_of(upload.key);
  std::string bytes;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const int number = parts[i].number;
    const auto part = upload.parts.find(number);
    if (part == upload.parts.end()) return invalid(fmt::format("{}part {} is missing", name, number));
    if (part->second.etag != parts[i].etag) return invalid(fmt::format("{}part {} is another now", name, number));
    if (i + 1 < parts.size() && part->second.bytes.size() < options_.least_part_bytes) {
      return invalid(fmt::format("{}part {} has less than {} bytes", name, number, options_.least_part_bytes));
    }
    bytes += part->second.bytes;
  }
  return bytes;
}

Result<PutResult> MemoryStore::complete_upload(const UploadId& upload, std::span<const PartResult> parts,
                                               PutCondition condition, std::optional<Duration> /*timeout*/) {
  const MutexLock lock(mutex_);
  MILLRACE_ASSIGN(const auto found, find_upload(upload, {.op = StoreOp::complete_upload,
                                                         .key = upload.key,
                                                         .condition = condition,
                                                         .part = static_cast<int>(parts.size())}));
  const ChecksumKind checksum = found->second.asked.checksum;
  if (auto sound = check_completion(checksum, parts, condition); !sound) {
    return fail(std::move(sound).error().prefixed(name_of(upload.key)));
  }
  MILLRACE_ASSIGN(std::string bytes, join(found->second, parts));
  const auto there = objects_.find(upload.key);
  MILLRACE_TRY(check_condition(upload.key, condition, {}, there == objects_.end() ? nullptr : &there->second.etag));
  ETag etag = store(upload.key, std::move(bytes), std::move(found->second.asked));
  uploads_.erase(found);
  return PutResult{std::move(etag), checksum_of_parts(checksum, parts).value_or("")};
}

Result<void> MemoryStore::abort_upload(const UploadId& upload) {
  const MutexLock lock(mutex_);
  const auto found = find_upload(upload, {.op = StoreOp::abort_upload, .key = upload.key});
  if (found) {
    uploads_.erase(*found);
    return {};
  }
  if (found.error().code() == ErrorCode::not_found) return {};
  return fail(found.error());
}

Result<UploadPage> MemoryStore::list_uploads(const ListUploadsRequest& request) {
  const MutexLock lock(mutex_);
  if (cancelled_) return fail(cancelled());
  requests_.push_back({.op = StoreOp::list_uploads, .key = request.prefix});
  std::vector<UploadInfo> found;
  for (const auto& [id, upload] : uploads_) {
    if (upload.key.starts_with(request.prefix)) found.push_back({{upload.key, id}, upload.begun});
  }
  const auto place = [](const UploadInfo& info) { return info.upload.key + '\0' + info.upload.id; };
  std::ranges::sort(found, {}, place);
  std::erase_if(found, [&](const UploadInfo& info) { return place(info) <= request.continuation; });
  UploadPage page;
  const std::size_t limit =
      std::clamp<std::size_t>(request.max_uploads, 1, std::max<std::size_t>(options_.max_page, 1));
  if (found.size() > limit) {
    found.resize(limit);
    page.continuation = place(found.back());
  }
  page.uploads = std::move(found);
  return page;
}

std::vector<UploadId> MemoryStore::open_uploads() const {
  const MutexLock lock(mutex_);
  std::vector<UploadId> open;
  for (const auto& [id, upload] : uploads_) open.push_back({upload.key, id, upload.asked.checksum});
  return open;
}

std::size_t MemoryStore::end_uploads() {
  const MutexLock lock(mutex_);
  const std::size_t count = uploads_.size();
  uploads_.clear();
  return count;
}

}  // namespace millrace::testing
