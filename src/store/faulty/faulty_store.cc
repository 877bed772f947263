// SPDX-License-Identifier: Apache-2.0
#include "millrace/testing/faulty_store.h"

#include <algorithm>
#include <utility>

#include "store/slow/delay_line.h"
#include "store/slow/delayed_read.h"

namespace millrace::testing {
namespace {

Error cancelled() { return Error::fatal(ErrorCode::cancelled, "cancelled: the run is ending"); }

Duration wait_of(const Fault& fault) { return fault.hang ? DelayLine::kNever : fault.delay; }

// What a true answer is turned into.
void lie(ListPage& page, const ETag& tag) {
  for (ObjectInfo& object : page.objects) object.etag = tag;
}
void lie(WholeObject& object, const ETag& tag) { object.etag = tag; }
void lie(PutResult& result, const ETag& tag) { result.etag = tag; }
void lie(HeadResult& result, const ETag& tag) { result.info.etag = tag; }
void lie(PartResult& result, const ETag& tag) { result.etag = tag; }
void lie(UploadId& /*upload*/, const ETag& /*tag*/) {}
void lie(UploadPage& /*page*/, const ETag& /*tag*/) {}

/// The rest of a read once its fault has waited: on whatever thread that was.
std::shared_ptr<ReadHandle> read_with(ObjectStore& inner, ReadRequest request, Fault fault) {
  if (fault.before) fault.before();
  const bool cut = fault.short_after.has_value();
  if (fault.error && !fault.done_anyway && !cut) {
    request.done({fail(*std::move(fault.error))});
    return nullptr;
  }
  if (cut) request.destination = request.destination.first(std::min(*fault.short_after, request.destination.size()));
  if (cut && request.destination.empty()) {
    request.done({fail(fault.error.value_or(
        Error::retryable(ErrorCode::interrupted_transfer, "the connection was cut before the first byte")))});
    return nullptr;
  }
  request.done = [done = std::move(request.done), fault = std::move(fault), cut](ReadOutcome outcome) mutable {
    if (outcome.info && fault.etag) outcome.info->etag = *fault.etag;
    if (outcome.info && (cut || fault.error)) {
      outcome.info = fail(fault.error.value_or(
          Error::retryable(ErrorCode::interrupted_transfer, "the connection was cut in the middle of the body")));
    }
    done(std::move(outcome));
  };
  return inner.start_read(std::move(request));
}

}  // namespace

FaultyStore::FaultyStore(std::shared_ptr<ObjectStore> inner, Clock& clock)
    : inner_(std::move(inner)),
      hanging_(std::make_shared<Atomic<std::size_t>>(0)),
      line_(std::make_shared<DelayLine>(clock)) {}

FaultyStore::~FaultyStore() = default;

void FaultyStore::add(Fault fault) {
  const MutexLock lock(mutex_);
  script_.push_back({std::move(fault)});
}

void FaultyStore::clear() {
  const MutexLock lock(mutex_);
  script_.clear();
}

void FaultyStore::release() { line_->hurry(); }

std::optional<Fault> FaultyStore::hit(StoreOp op, std::string_view key) {
  const MutexLock lock(mutex_);
  std::optional<Fault> first;
  for (Scripted& scripted : script_) {
    const Fault& fault = scripted.fault;
    if ((fault.op && *fault.op != op) || key.find(fault.key) == std::string_view::npos) continue;
    ++scripted.matched;
    if (!first && scripted.matched >= fault.nth && scripted.matched - fault.nth < fault.times) first = fault;
  }
  if (first) hits_.fetch_add(1, memory_order_relaxed);
  return first;
}

/// What a blocking call goes through before it begins.
Result<void> FaultyStore::suffer(const Fault& fault) {
  if (wait_of(fault) > Duration(0)) {
    if (fault.hang) hanging_->fetch_add(1, memory_order_release);
    const bool going_on = line_->wait(wait_of(fault));
    if (fault.hang) hanging_->fetch_sub(1, memory_order_release);
    if (!going_on) return fail(cancelled());
  }
  if (fault.before) fault.before();
  if (fault.error && !fault.done_anyway) return fail(*fault.error);
  return {};
}

template <class T, class Call>
Result<T> FaultyStore::call(StoreOp op, std::string_view key, Call inner) {
  const std::optional<Fault> fault = hit(op, key);
  if (!fault) return inner(Fault());
  MILLRACE_TRY(suffer(*fault));
  Result<T> answer = inner(*fault);
  if (fault->error) return fail(*fault->error);
  if constexpr (!std::is_void_v<T>) {
    if (answer && fault->etag) lie(*answer, *fault->etag);
  }
  return answer;
}

std::string FaultyStore::describe() const { return inner_->describe(); }
ReadAdvice FaultyStore::read_advice() const { return inner_->read_advice(); }

Result<ListPage> FaultyStore::list(const ListRequest& request) {
  return call<ListPage>(StoreOp::list, request.prefix, [&](const Fault&) { return inner_->list(request); });
}

Result<WholeObject> FaultyStore::get(std::string_view key, std::size_t limit, std::optional<Duration> timeout) {
  return call<WholeObject>(StoreOp::get, key, [&](const Fault&) { return inner_->get(key, limit, timeout); });
}

Result<PutResult> FaultyStore::put(const PutRequest& request) {
  return call<PutResult>(StoreOp::put, request.key, [&](const Fault& fault) {
    if (!fault.ignore_condition) return inner_->put(request);
    PutRequest plain = request;
    plain.condition = PutCondition::none;
    return inner_->put(plain);
  });
}

Result<HeadResult> FaultyStore::head(std::string_view key) {
  return call<HeadResult>(StoreOp::head, key, [&](const Fault&) { return inner_->head(key); });
}

Result<void> FaultyStore::remove(std::string_view key) {
  return call<void>(StoreOp::remove, key, [&](const Fault&) { return inner_->remove(key); });
}

Result<UploadId> FaultyStore::begin_upload(const UploadRequest& request) {
  return call<UploadId>(StoreOp::begin_upload, request.key,
                        [&](const Fault&) { return inner_->begin_upload(request); });
}

Result<PartResult> FaultyStore::put_part(const UploadId& upload, int number, std::string_view body,
                                         std::optional<Duration> timeout) {
  return call<PartResult>(StoreOp::put_part, upload.key,
                          [&](const Fault&) { return inner_->put_part(upload, number, body, timeout); });
}

Result<PutResult> FaultyStore::complete_upload(const UploadId& upload, std::span<const PartResult> parts,
                                               PutCondition condition, std::optional<Duration> timeout) {
  return call<PutResult>(StoreOp::complete_upload, upload.key, [&](const Fault& fault) {
    return inner_->complete_upload(upload, parts, fault.ignore_condition ? PutCondition::none : condition, timeout);
  });
}

Result<void> FaultyStore::abort_upload(const UploadId& upload) {
  return call<void>(StoreOp::abort_upload, upload.key, [&](const Fault&) { return inner_->abort_upload(upload); });
}

Result<UploadPage> FaultyStore::list_uploads(const ListUploadsRequest& request) {
  return call<UploadPage>(StoreOp::list_uploads, request.prefix,
                          [&](const Fault&) { return inner_->list_uploads(request); });
}

std::shared_ptr<ReadHandle> FaultyStore::start_read(ReadRequest request) {
  std::optional<Fault> fault = hit(StoreOp::read, request.key);
  if (!fault) return inner_->start_read(std::move(request));
  auto handle = std::make_shared<DelayedRead>();
  if (wait_of(*fault) == Duration(0)) {
    if (auto inner = read_with(*inner_, std::move(request), *std::move(fault))) handle->began(std::move(inner));
    return handle;
  }
  const Duration wait = wait_of(*fault);
  if (fault->hang) hanging_->fetch_add(1, memory_order_release);
  const auto ticket = line_->after(wait, [inner = inner_, hanging = hanging_, handle, request = std::move(request),
                                          fault = *std::move(fault)](bool ended) mutable {
    if (fault.hang) hanging->fetch_sub(1, memory_order_release);
    if (ended) {
      request.done({fail(cancelled())});
    } else if (auto began = read_with(*inner, std::move(request), std::move(fault))) {
      handle->began(std::move(began));
    }
  });
  handle->waits_on(line_, ticket);
  return handle;
}

void FaultyStore::cancel_all() {
  line_->cancel_all();
  inner_->cancel_all();
}

}  // namespace millrace::testing
