// SPDX-License-Identifier: Apache-2.0
#include "millrace/testing/slow_store.h"

#include <utility>

#include "store/slow/delay_line.h"
#include "store/slow/delayed_read.h"

namespace millrace::testing {
namespace {

Error cancelled() { return Error::fatal(ErrorCode::cancelled, "cancelled: the run is ending"); }

}  // namespace

SlowStore::SlowStore(std::shared_ptr<ObjectStore> inner, Options options)
    : inner_(std::move(inner)),
      options_(options),
      reads_(std::make_shared<Reads>()),
      line_(std::make_shared<DelayLine>(*options.clock)) {}

SlowStore::~SlowStore() = default;

Duration SlowStore::time_for(std::size_t bytes) const {
  if (options_.bytes_per_second == 0) return options_.latency;
  const double seconds = static_cast<double>(bytes) / static_cast<double>(options_.bytes_per_second);
  return options_.latency + Duration(static_cast<Duration::rep>(seconds * 1e9));
}

Result<void> SlowStore::take_time(std::size_t bytes) {
  if (line_->wait(time_for(bytes))) return {};
  return fail(cancelled());
}

std::string SlowStore::describe() const { return inner_->describe(); }
ReadAdvice SlowStore::read_advice() const { return {2U << 20U, 64}; }

Result<ListPage> SlowStore::list(const ListRequest& request) {
  MILLRACE_TRY(take_time(0));
  return inner_->list(request);
}

std::shared_ptr<ReadHandle> SlowStore::start_read(ReadRequest request) {
  const std::size_t now = reads_->now.fetch_add(1, memory_order_relaxed) + 1;
  std::size_t most = reads_->most.load(memory_order_relaxed);
  while (most < now && !reads_->most.compare_exchange_weak(most, now, memory_order_relaxed)) {
  }
  const Duration delay = time_for(request.destination.size());
  request.done = [reads = reads_, done = std::move(request.done)](ReadOutcome outcome) mutable {
    reads->now.fetch_sub(1, memory_order_relaxed);
    done(std::move(outcome));
  };
  auto handle = std::make_shared<DelayedRead>();
  const auto ticket = line_->after(delay, [inner = inner_, handle, request = std::move(request)](bool ended) mutable {
    if (ended) {
      request.done({fail(cancelled())});
    } else {
      handle->began(inner->start_read(std::move(request)));
    }
  });
  handle->waits_on(line_, ticket);
  return handle;
}

Result<WholeObject> SlowStore::get(std::string_view key, std::size_t limit, std::optional<Duration> timeout) {
  MILLRACE_TRY(take_time(0));
  return inner_->get(key, limit, timeout);
}

Result<PutResult> SlowStore::put(const PutRequest& request) {
  MILLRACE_TRY(take_time(request.body.size()));
  return inner_->put(request);
}

Result<HeadResult> SlowStore::head(std::string_view key) {
  MILLRACE_TRY(take_time(0));
  return inner_->head(key);
}

Result<void> SlowStore::remove(std::string_view key) {
  MILLRACE_TRY(take_time(0));
  return inner_->remove(key);
}

Result<UploadId> SlowStore::begin_upload(const UploadRequest& request) {
  MILLRACE_TRY(take_time(0));
  return inner_->begin_upload(request);
}

Result<PartResult> SlowStore::put_part(const UploadId& upload, int number, std::string_view body,
                                       std::optional<Duration> timeout) {
  MILLRACE_TRY(take_time(body.size()));
  return inner_->put_part(upload, number, body, timeout);
}

Result<PutResult> SlowStore::complete_upload(const UploadId& upload, std::span<const PartResult> parts,
                                             PutCondition condition, std::optional<Duration> timeout) {
  MILLRACE_TRY(take_time(0));
  return inner_->complete_upload(upload, parts, condition, timeout);
}

Result<void> SlowStore::abort_upload(const UploadId& upload) {
  MILLRACE_TRY(take_time(0));
  return inner_->abort_upload(upload);
}

Result<UploadPage> SlowStore::list_uploads(const ListUploadsRequest& request) {
  MILLRACE_TRY(take_time(0));
  return inner_->list_uploads(request);
}

void SlowStore::cancel_all() {
  line_->cancel_all();
  inner_->cancel_all();
}

}  // namespace millrace::testing
