// SPDX-License-Identifier: Apache-2.0
// LaneRig: one lane as a chain sees it, without threads: real sinks that seal, real acks and a real checkpointer, and a
// queue in place of the I/O threads that takes as much as the test lets it.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/checkpoint/checkpointer.h"
#include "millrace/pipeline/compile.h"

namespace millrace {

inline constexpr PartitionId kRigPartition{5};

/// Takes sealed batches while it has room; the test says which become durable.
class RigQueue final : public SealedBatchQueue {
 public:
  bool try_push(SealedBatch& batch) override {
    if (room == 0) return false;
    --room;
    texts.emplace_back(batch.chunk.bytes.view());
    reasons.push_back(batch.reason);
    batches.push_back(std::move(batch));
    return true;
  }
  ByteBuffer take_buffer() override { return std::exchange(spare, ByteBuffer()); }
  /// The oldest batch that is not durable yet becomes so.
  void deliver() {
    batches.front().chunk.acks.deliver();
    batches.front().chunk.bytes.clear();
    spare = std::move(batches.front().chunk.bytes);
    batches.pop_front();
  }
  void deliver_all() {
    while (!batches.empty()) deliver();
  }

  std::size_t room = 1'000'000;
  std::deque<SealedBatch> batches;  ///< sealed, not durable
  std::vector<std::string> texts;   ///< of every batch there was
  std::vector<SealReason> reasons;
  ByteBuffer spare;
};

struct RigSink {
  std::string name = "sink";  ///< kDeadLetterSink: takes letters, raw
  SealPolicy policy = {};
  Envelope envelope = {};
  RouteSpec route = {};  ///< with policy.routed
  bool framed = false;   ///< takes records one by one
};

class LaneRig {
 public:
  explicit LaneRig(std::vector<RigSink> sinks = {RigSink{}}) {
    std::ignore = checkpointer.begin_epoch(std::vector{kRigPartition});
    issuer = checkpointer.issuer();
    for (RigSink& sink : sinks) {
      auto& queue = queues_.emplace_back(std::make_unique<RigQueue>());
      auto end = std::make_unique<LaneSink>(LaneSink::Options{.lane = LaneId(1),
                                                              .partition = kRigPartition,
                                                              .policy = sink.policy,
                                                              .envelope = sink.envelope,
                                                              .route = sink.route,
                                                              .first_sequence = 0,
                                                              .framed = sink.framed},
                                            *queue);
      if (sink.name == kDeadLetterSink) {
        outputs.add_dead_letters(std::move(end), {});
      } else {
        outputs.add(sink.name, std::move(end));
      }
    }
  }

  LaneRig& chain(const ChainFactory& factory) {
    auto compiled = factory(context());
    EXPECT_TRUE(compiled.has_value()) << compiled.error().message();
    chain_ = *std::move(compiled);
    return *this;
  }
  template <IsChainPart Plan>
  LaneRig& chain(Plan plan) {
    return chain([&plan](const ChainContext& context) { return compile(std::move(plan), context); });
  }
  ChainContext context() {
    ChainContext context;
    context.lane = LaneId(1);
    context.partition = kRigPartition;
    context.outputs = &outputs;
    context.ledger = ledger;
    return context;
  }

  /// The next batch; its views must last while it is run.
  void poll(std::vector<std::string_view> payloads) {
    payloads_ = std::move(payloads);
    batch = PayloadBatch();
    batch.payloads = payloads_;
    batch.partition = kRigPartition;
    batch.base_offset = Offset(next_offset);
    batch.origin = origin;
    next_offset += static_cast<std::int64_t>(payloads_.size());
    ack = issuer.issue(kRigPartition, Offset(next_offset - 1));
    from = 0;
  }
  /// Runs the batch from where it stands until it is through, blocked or failed.
  ChainStep run() {
    ChainStep step = chain_->run(batch, from, ack, issuer, counts);
    from = step.next;
    if (from == payloads_.size()) ack.reset();
    return step;
  }
  /// Polls and runs to the end; nothing may block or fail.
  LaneRig& feed(std::vector<std::string_view> payloads) {
    poll(std::move(payloads));
    const ChainStep step = run();
    EXPECT_EQ(step.next, payloads_.size());
    if (step.error) ADD_FAILURE() << step.error->message();
    return *this;
  }
  void seal_all() {
    for (const auto& [name, sink] : outputs.all()) sink->seal(SealReason::lane_end);
  }

  [[nodiscard]] RigQueue& queue(std::size_t index = 0) { return *queues_.at(index); }
  /// Seals what is open and returns all that was written to a sink.
  [[nodiscard]] std::string written(std::size_t index = 0) {
    seal_all();
    std::string all;
    for (const std::string& text : queues_.at(index)->texts) all += text;
    return all;
  }
  /// Where the partition would resume now; 0 when nothing is settled.
  [[nodiscard]] std::int64_t watermark() {
    std::ignore = checkpointer.drain();
    for (const PartitionWatermark& moved : checkpointer.take_watermarks()) watermark_ = moved.watermark.value();
    return watermark_;
  }

  std::shared_ptr<Ledger> ledger;  ///< of chains built from now on
  Checkpointer checkpointer;
  AckIssuer issuer;

 private:
  std::vector<std::unique_ptr<RigQueue>> queues_;  // outlive the sinks
  std::vector<std::string_view> payloads_;
  std::int64_t watermark_ = 0;

 public:
  LaneOutputs outputs;
  std::shared_ptr<const Origin> origin;
  PayloadBatch batch;
  AckRef ack;
  ChainCounts counts;
  std::size_t from = 0;
  std::int64_t next_offset = 0;

 private:
  std::unique_ptr<LaneChain> chain_;  // holds ways into the sinks
};

}  // namespace millrace
