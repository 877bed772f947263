// SPDX-License-Identifier: Apache-2.0
// BackfillRig: drives a source by hand, with a bare Checkpointer and no pipeline: polls its lanes, acknowledges,
// commits, kills. For tests; one thread.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "connectors/s3/log_capture.h"
#include "connectors/s3/manifest.h"
#include "connectors/s3/source.h"
#include "millrace/checkpoint/checkpointer.h"
#include "millrace/testing/faulty_store.h"
#include "millrace/testing/memory_store.h"

namespace millrace::s3_source {

struct Record {
  std::uint32_t lane = 0;
  std::int64_t offset = 0;
  std::string bytes;
  std::string object;
  friend bool operator==(const Record&, const Record&) = default;
  friend auto operator<=>(const Record&, const Record&) = default;
};

class BackfillRig {
 public:
  explicit BackfillRig(std::shared_ptr<ObjectStore> inner)
      : store(std::make_shared<testing::FaultyStore>(std::move(inner))) {
    options.url = "s3://b/in/";
    options.checkpoint.url = "s3://b/ck/manifest.json";
  }
  ~BackfillRig() { close(); }

  S3SourceOptions options;
  StartFlags flags;
  RetryPolicy retry{.tries = 8,
                    .backoff = {.initial = std::chrono::microseconds(1), .cap = std::chrono::microseconds(50)}};
  std::size_t max_records = 4096;
  bool hold_acks = false;  ///< batches stay unacknowledged until acknowledge()
  std::shared_ptr<testing::FaultyStore> store;
  std::shared_ptr<LogCapture> log = std::make_shared<LogCapture>();
  std::shared_ptr<MetricRegistry> metrics = std::make_shared<MetricRegistry>();

  std::vector<Record> records;
  std::uint64_t batches = 0;
  std::vector<std::unique_ptr<SourceLane>> lanes;

  /// Until the lanes are there.
  Result<void> open() {
    MILLRACE_ASSIGN(Settings settings, settle(options));
    settings.retry = retry;
    source_ = std::make_unique<BackfillSource>(std::move(settings), flags,
                                               [this](const StoreUrl&, const StoreOptions&, const StoreContext&) {
                                                 return std::shared_ptr<ObjectStore>(store);
                                               });
    SourceContext context;
    context.acks = checkpointer_.issuer();
    context.pipeline = "pipe";
    context.ledger = ledger_;
    context.log = Logger(log, "s3");
    context.meter = Meter(metrics, {{"pipeline", "pipe"}, {"component", "source"}, {"component_type", "s3"}});
    MILLRACE_TRY(source_->open(std::move(context)));
    while (true) {
      MILLRACE_ASSIGN(SourceEvent event, source_->poll_events(std::chrono::seconds(10)));
      auto* assigned = std::get_if<LanesAssigned>(&event);
      if (assigned == nullptr) continue;
      lanes = std::move(assigned->lanes);
      break;
    }
    std::vector<PartitionId> partitions;
    for (const auto& lane : lanes) partitions.push_back(lane->partition());
    checkpointer_.begin_epoch(partitions);
    exhausted_.assign(lanes.size(), false);
    held_.resize(lanes.size());
    return {};
  }

  /// As a chain under on_error: fail: refuses a payload, and the lane sets its object aside. A lane that declines fails
  /// the test.
  std::function<bool(std::string_view payload)> refuse;

  /// One poll of one lane. True when the lane is exhausted.
  Result<bool> poll(std::size_t lane, Duration timeout = std::chrono::seconds(20)) {
    if (exhausted_[lane]) return true;
    MILLRACE_ASSIGN(PollResult polled, lanes[lane]->poll(max_records, timeout));
    if (std::holds_alternative<Exhausted>(polled)) exhausted_[lane] = true;
    if (auto* batch = std::get_if<PayloadBatch>(&polled)) {
      ++batches;
      const std::size_t delivered = set_aside_from(*lanes[lane], *batch);
      if (delivered > 0) {
        ledger_->add(batch->partition, {batch->offset(0),
                                        batch->offset(delivered - 1),
                                        {.in = delivered, .out = delivered, .encoded = delivered}});
      }
      for (std::size_t i = 0; i < delivered; ++i) {
        records.push_back({static_cast<std::uint32_t>(lane), batch->offset(i).value(), std::string(batch->payloads[i]),
                           batch->origin ? batch->origin->object : ""});
      }
      if (hold_acks) held_[lane].push_back(std::move(batch->ack));
    }
    return static_cast<bool>(exhausted_[lane]);
  }
  [[nodiscard]] bool all_exhausted() const {
    for (const bool exhausted : exhausted_) {
      if (!exhausted) return false;
    }
    return true;
  }
  /// All lanes in turn until at least `count` more records came, or the end.
  Result<void> poll_records(std::size_t count) {
    const std::size_t before = records.size();
    while (!all_exhausted() && records.size() - before < count) {
      for (std::size_t lane = 0; lane < lanes.size() && records.size() - before < count; ++lane)
        MILLRACE_TRY(poll(lane));
    }
    return {};
  }
  /// The oldest `count` held batches of a lane are delivered.
  void acknowledge(std::size_t lane, std::size_t count) {
    for (; count > 0 && !held_[lane].empty(); --count) held_[lane].pop_front();
  }
  [[nodiscard]] std::size_t held(std::size_t lane) const { return held_[lane].size(); }

  /// What is acknowledged becomes durable.
  Result<void> commit() {
    checkpointer_.drain();
    const auto moved = checkpointer_.take_watermarks();
    for (const auto& watermark : moved) committed[watermark.partition.value()] = watermark.watermark.value();
    if (!moved.empty()) MILLRACE_TRY(source_->commit(moved));
    return source_->flush_commits();
  }
  std::map<std::uint32_t, std::int64_t> committed;  ///< by partition

  /// From open to close, everything acknowledged and committed.
  Result<void> run() {
    MILLRACE_TRY(open());
    MILLRACE_TRY(poll_records(SIZE_MAX));
    MILLRACE_TRY(commit());
    close();
    return {};
  }
  void close() {
    for (auto& queue : held_) {
      for (AckRef& ack : queue) ack.fail();
    }
    held_.clear();
    lanes.clear();
    if (source_) source_->close();
  }
  /// As kill -9 would end it: the store hears no more of this run.
  void kill() {
    store->add({.op = testing::StoreOp::put,
                .times = testing::Fault::kAlways,
                .error = Error::fatal(ErrorCode::cancelled, "killed")});
    close();
    source_.reset();
    store->clear();
  }
  /// On one lane, a record a batch: `count` records are read, acknowledged and committed, and the run is killed.
  Result<void> commit_and_die(std::size_t count) {
    options.lanes = 1;
    max_records = 1;
    MILLRACE_TRY(open());
    MILLRACE_TRY(poll_records(count));
    MILLRACE_TRY(commit());
    kill();
    return {};
  }
  [[nodiscard]] BackfillSource& source() { return *source_; }

  /// Payloads in the order of their objects, for comparisons.
  [[nodiscard]] std::map<std::string, std::vector<std::string>> by_object() const {
    std::map<std::string, std::vector<std::string>> all;
    for (const Record& record : records) all[record.object].push_back(record.bytes);
    return all;
  }
  [[nodiscard]] double metric(std::string_view name) const {
    const std::string text = metrics->to_prometheus_text();
    const std::size_t at = text.find("\n" + std::string(name) + "{");
    if (at == std::string::npos) return -1;
    return std::stod(text.substr(text.find("} ", at) + 2));
  }

 private:
  /// How many payloads are delivered. As the engine does it: the ack of the others is let go at once.
  std::size_t set_aside_from(SourceLane& lane, PayloadBatch& batch) {
    if (!refuse) return batch.payloads.size();
    for (std::size_t i = 0; i < batch.payloads.size(); ++i) {
      if (!refuse(batch.payloads[i])) continue;
      if (!lane.set_aside(batch.offset(i), Error::record(ErrorCode::malformed, "refused"))) {
        ADD_FAILURE() << "the lane declines to set " << batch.payloads[i] << " aside";
      }
      if (i == 0) batch.ack.reset();
      if (i > 0) AckRef rest = checkpointer_.issuer().split(batch.ack, batch.offset(i - 1));
      return i;
    }
    return batch.payloads.size();
  }

  const std::shared_ptr<Ledger> ledger_ = std::make_shared<Ledger>();
  Checkpointer checkpointer_;
  std::unique_ptr<BackfillSource> source_;
  std::vector<bool> exhausted_;
  std::vector<std::deque<AckRef>> held_;
};

}  // namespace millrace::s3_source
