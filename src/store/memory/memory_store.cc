// SPDX-License-Identifier: Apache-2.0
#include "millrace/testing/memory_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "millrace/base/printable.h"
#include "store/checksum/checksum.h"

namespace millrace::testing {
namespace {

/// E01: an opaque token with the characters that clients like to mangle.
constexpr std::string_view kTokenFront = "next+/= %2B ";

class EndedRead final : public ReadHandle {
 public:
  void cancel() override {}
};

/// 64-bit FNV-1a.
std::uint64_t hash(std::string_view bytes) {
  std::uint64_t value = 0xcbf29ce484222325U;
  for (const char c : bytes) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return value;
}

}  // namespace

std::string_view to_string(StoreOp op) noexcept {
  switch (op) {
    case StoreOp::list:
      return "list";
    case StoreOp::read:
      return "read";
    case StoreOp::get:
      return "get";
    case StoreOp::put:
      return "put";
    case StoreOp::head:
      return "head";
    case StoreOp::remove:
      return "remove";
    case StoreOp::begin_upload:
      return "begin_upload";
    case StoreOp::put_part:
      return "put_part";
    case StoreOp::complete_upload:
      return "complete_upload";
    case StoreOp::abort_upload:
      return "abort_upload";
    case StoreOp::list_uploads:
      return "list_uploads";
  }
  return "unknown";
}

MemoryStore::MemoryStore() : MemoryStore(Options()) {}
MemoryStore::MemoryStore(Options options) : options_(std::move(options)) {}

void MemoryStore::set(std::string key, std::string bytes, Traits traits) {
  const MutexLock lock(mutex_);
  if (traits.last_modified == kNoTimestamp) traits.last_modified = options_.clock->unix_micros();
  ETag etag = tag_of(bytes);
  objects_[std::move(key)] =
      Object{std::make_shared<const std::string>(std::move(bytes)), std::move(etag), std::move(traits), {}};
}

void MemoryStore::erase(std::string_view key) {
  const MutexLock lock(mutex_);
  if (const auto found = objects_.find(key); found != objects_.end()) objects_.erase(found);
}

std::optional<MemoryStore::Asked> MemoryStore::asked(std::string_view key) const {
  const MutexLock lock(mutex_);
  const auto found = objects_.find(key);
  if (found == objects_.end()) return std::nullopt;
  return found->second.asked;
}

std::map<std::string, std::string> MemoryStore::contents() const {
  const MutexLock lock(mutex_);
  std::map<std::string, std::string> all;
  for (const auto& [key, object] : objects_) all.emplace(key, *object.bytes);
  return all;
}

std::vector<StoreRequest> MemoryStore::requests() const {
  const MutexLock lock(mutex_);
  return requests_;
}

std::size_t MemoryStore::count(StoreOp op) const {
  const MutexLock lock(mutex_);
  return static_cast<std::size_t>(std::ranges::count(requests_, op, &StoreRequest::op));
}

void MemoryStore::clear_requests() {
  const MutexLock lock(mutex_);
  requests_.clear();
}

std::string MemoryStore::describe() const { return options_.name; }

ETag MemoryStore::tag_of(std::string_view bytes) {
  if (options_.etags == Tags::none) return {};
  return ETag{fmt::format("{}\"{:016x}\"", options_.etags == Tags::weak ? "W/" : "", hash(bytes))};
}

Error MemoryStore::cancelled() const {
  return Error::fatal(ErrorCode::cancelled, options_.name + ": cancelled: the run is ending");
}

Error MemoryStore::not_found(std::string_view key) const {
  return Error::fatal(ErrorCode::not_found,
                      fmt::format("{}/{}: there is no such object", options_.name, printable_key(key)));
}

/// Logs the request and finds its object.
Result<MemoryStore::Object> MemoryStore::begin(StoreRequest request) {
  if (cancelled_) return fail(cancelled());
  const auto found = objects_.find(request.key);
  requests_.push_back(std::move(request));
  if (found == objects_.end()) return fail(not_found(requests_.back().key));
  return found->second;
}

Result<ListPage> MemoryStore::list(const ListRequest& request) {
  const MutexLock lock(mutex_);
  if (cancelled_) return fail(cancelled());
  requests_.push_back({.op = StoreOp::list, .key = request.prefix});
  std::string after = request.start_after;
  if (!request.continuation.empty()) {
    if (!request.continuation.starts_with(kTokenFront)) {
      return fail(
          Error::fatal(ErrorCode::invalid_request, options_.name + ": the continuation token is not one of mine"));
    }
    after = std::max(after, request.continuation.substr(kTokenFront.size()));
  }
  const std::size_t limit = std::clamp<std::size_t>(request.max_keys, 1, std::max<std::size_t>(options_.max_page, 1));
  ListPage page;
  for (auto at = objects_.lower_bound(request.prefix); at != objects_.end() && at->first.starts_with(request.prefix);
       ++at) {
    const auto& [key, object] = *at;
    if (!after.empty() && key <= after) continue;
    if (page.objects.size() == limit) {
      page.continuation = std::string(kTokenFront) + page.objects.back().key;
      break;
    }
    const std::uint64_t told = object.traits.listed_size;
    page.objects.push_back({key, told == UINT64_MAX ? object.bytes->size() : told, object.etag,
                            object.traits.last_modified, object.traits.storage_class});
  }
  return page;
}

ReadOutcome MemoryStore::read(const ReadRequest& request) {
  Object object;
  {
    const MutexLock lock(mutex_);
    auto found = begin({.op = StoreOp::read,
                        .key = request.key,
                        .offset = request.offset,
                        .size = request.destination.size(),
                        .pinned = !request.if_match.empty()});
    if (!found) return {fail(std::move(found).error())};
    object = *std::move(found);
  }
  const std::string name = fmt::format("{}/{}", options_.name, printable_key(request.key));
  const std::uint64_t size = object.bytes->size();
  if (!request.if_match.empty() && (request.if_match != object.etag || !object.etag.pins())) {
    return {fail(
        Error::fatal(ErrorCode::precondition_failed, fmt::format("{}: is another object now: its ETag is {}, not {}",
                                                                 name, object.etag.value, request.if_match.value)))};
  }
  if (request.expected_object_size && *request.expected_object_size != size) {
    return {fail(Error::fatal(ErrorCode::drift,
                              fmt::format("{}: has {} bytes now, not {}", name, size, *request.expected_object_size)))};
  }
  if (request.destination.empty() || request.offset > size || request.destination.size() > size - request.offset) {
    return {fail(
        Error::fatal(ErrorCode::invalid_request, fmt::format("{}: {} bytes from {} are not a range of its {} bytes",
                                                             name, request.destination.size(), request.offset, size)))};
  }
  std::memcpy(request.destination.data(), object.bytes->data() + request.offset, request.destination.size());
  return {ReadInfo{size, object.etag, object.traits.last_modified, object.traits.content_encoding},
          request.destination.size()};
}

std::shared_ptr<ReadHandle> MemoryStore::start_read(ReadRequest request) {
  request.done(read(request));
  return std::make_shared<EndedRead>();
}

Result<WholeObject> MemoryStore::get(std::string_view key, std::size_t limit, std::optional<Duration> /*timeout*/) {
  const MutexLock lock(mutex_);
  MILLRACE_ASSIGN(const Object object, begin({.op = StoreOp::get, .key = std::string(key)}));
  if (object.bytes->size() > limit) {
    return fail(
        Error::fatal(ErrorCode::too_large, fmt::format("{}/{}: has {} bytes; at most {} are read whole", options_.name,
                                                       printable_key(key), object.bytes->size(), limit)));
  }
  return WholeObject{*object.bytes, object.etag};
}

Result<PutResult> MemoryStore::put(const PutRequest& request) {
  const MutexLock lock(mutex_);
  const auto before =
      begin({.op = StoreOp::put, .key = request.key, .size = request.body.size(), .condition = request.condition});
  if (!before && before.error().code() != ErrorCode::not_found) return fail(before.error());
  if (request.key.empty()) {
    return fail(Error::fatal(ErrorCode::invalid_request, options_.name + ": an object needs a key"));
  }
  MILLRACE_TRY(check_condition(request.key, request.condition, request.etag, before ? &before->etag : nullptr));
  ETag etag =
      store(request.key, std::string(request.body),
            {request.content_type, request.content_encoding, request.metadata, request.settings, request.checksum});
  return PutResult{std::move(etag), checksum_of(request.checksum, request.body)};
}

Result<void> MemoryStore::check_condition(std::string_view key, PutCondition condition, const ETag& etag,
                                          const ETag* there) const {
  const bool kept = condition == PutCondition::none || (condition == PutCondition::if_absent && there == nullptr) ||
                    (condition == PutCondition::if_match && there != nullptr && *there == etag);
  if (kept || !options_.honours_conditions) return {};
  if (condition == PutCondition::if_match && !options_.honours_if_match) return {};
  return fail(
      Error::fatal(ErrorCode::precondition_failed,
                   fmt::format("{}/{}: {}", options_.name, printable_key(key),
                               condition == PutCondition::if_absent ? "exists already"
                                                                    : "is not the version that was to be replaced")));
}

ETag MemoryStore::store(const std::string& key, std::string bytes, Asked asked) {
  Traits traits;
  traits.content_encoding = asked.content_encoding;
  traits.storage_class = asked.settings.storage_class;
  traits.last_modified = options_.clock->unix_micros();
  ETag etag = tag_of(bytes);
  objects_[key] =
      Object{std::make_shared<const std::string>(std::move(bytes)), etag, std::move(traits), std::move(asked)};
  return etag;
}

Result<HeadResult> MemoryStore::head(std::string_view key) {
  const MutexLock lock(mutex_);
  MILLRACE_ASSIGN(const Object object, begin({.op = StoreOp::head, .key = std::string(key)}));
  return HeadResult{
      {std::string(key), object.bytes->size(), object.etag, object.traits.last_modified, object.traits.storage_class},
      object.asked.metadata,
      object.traits.content_encoding,
      object.asked.content_type};
}

Result<void> MemoryStore::remove(std::string_view key) {
  const MutexLock lock(mutex_);
  if (cancelled_) return fail(cancelled());
  requests_.push_back({.op = StoreOp::remove, .key = std::string(key)});
  if (const auto found = objects_.find(key); found != objects_.end()) objects_.erase(found);
  return {};
}

void MemoryStore::cancel_all() {
  const MutexLock lock(mutex_);
  cancelled_ = true;
}

}  // namespace millrace::testing
