// SPDX-License-Identifier: Apache-2.0
#include "testing/conformance/sink_driver.h"

#include <fmt/format.h>

#include <algorithm>

#include "millrace/decode/raw.h"
#include "millrace/encode/encode.h"
#include "millrace/pipeline/compile.h"

namespace millrace::conformance {
namespace {

Result<std::unique_ptr<LaneChain>> as_they_are(const ChainContext& context) {
  return compile(decode::raw() | encode::raw(), context);
}

}  // namespace

std::string numbered_record(PartitionId partition, std::uint64_t n) {
  return fmt::format(R"({{"partition":{},"n":{}}})", partition.value(), n);
}

void SinkDriver::kill() {
  lanes_.clear();
  writers_.clear();
  sink_.reset();
}

bool SinkDriver::start(std::size_t writers) {
  Result<std::unique_ptr<Sink>> made = world_.make();
  if (!made || !*made) {
    failure_ = made ? "the factory gave no sink" : "the sink was not made: " + made.error().message();
    return false;
  }
  sink_ = *std::move(made);
  SinkContext context;
  context.pipeline = "conformance";
  if (auto opened = sink_->open(std::move(context)); !opened) {
    failure_ = "open failed: " + opened.error().message();
    return false;
  }
  const std::size_t declared = std::max<std::size_t>(sink_->traits().concurrency, 1);
  for (std::size_t i = 0; i < (writers == 0 ? declared : writers); ++i) {
    auto writer = sink_->make_writer();
    if (!writer || !*writer) {
      failure_ =
          fmt::format("writer {} of {} was not made{}", i + 1, declared, writer ? "" : ": " + writer.error().message());
      return false;
    }
    writers_.push_back(*std::move(writer));
  }
  auto origin = std::make_shared<Origin>();
  origin->stream = "conformance";
  origin->topic = "records";
  origin->lineage = "conformance";
  origin_ = std::move(origin);
  return true;
}

Result<SinkDriver::Lane*> SinkDriver::lane(PartitionId partition) {
  std::unique_ptr<Lane>& known = lanes_[partition];
  if (known) return known.get();
  auto made = std::make_unique<Lane>();
  LaneSink::Options ends;
  ends.lane = LaneId(partition.value());
  ends.partition = partition;
  ends.policy = sink_->seal_policy();
  ends.policy.spool_dir.clear();
  ends.envelope = sink_->envelope();
  ends.route = sink_->route_spec();
  ends.framed = sink_->encode_spec().format == EncodeFormat::framed;
  made->outputs.add("sink", std::make_unique<LaneSink>(std::move(ends), made->shelf));
  ChainContext context;
  context.pipeline = "conformance";
  context.lane = LaneId(partition.value());
  context.partition = partition;
  context.outputs = &made->outputs;
  MILLRACE_ASSIGN(made->chain, options_.chain ? options_.chain(context) : as_they_are(context));
  known = std::move(made);
  return known.get();
}

bool SinkDriver::make(PartitionId partition, std::uint64_t first, std::uint64_t count, MadeBatches& made,
                      std::optional<std::uint64_t> as) {
  Result<Lane*> found = lane(partition);
  if (!found) {
    failure_ = "the chain was not made: " + found.error().message();
    return false;
  }
  Lane& lane = **found;
  made.records.clear();
  for (std::uint64_t i = 0; i < count; ++i) made.records.push_back(options_.record(partition, as.value_or(first) + i));
  const std::vector<std::string_view> views(made.records.begin(), made.records.end());
  PayloadBatch batch;
  batch.payloads = views;
  batch.partition = partition;
  batch.base_offset = Offset(static_cast<std::int64_t>(first));
  batch.timestamp = 1'700'000'000'000'000;
  batch.origin = origin_;
  AckRef ack;
  AckIssuer issuer;
  ChainCounts counts;
  const ChainStep step = lane.chain->run(batch, 0, ack, issuer, counts);
  if (step.error || step.next != views.size()) {
    failure_ =
        "the chain did not take the records: " + (step.error ? step.error->message() : std::string("it stopped"));
    return false;
  }
  lane.outputs.find("")->seal(SealReason::lane_end);
  made.batches = std::exchange(lane.shelf.batches, {});
  if (!made.batches.empty()) return true;
  failure_ = "the lane sealed nothing";
  return false;
}

Result<void> SinkDriver::ask(const MadeBatches& made, std::size_t writer) {
  const EncodedChunk& first = made.batches.front().chunk;
  if (!sink_->traits().recalls || recalled_.contains(first.partition)) return {};
  MILLRACE_TRY(writers_.at(writer)->recall(first.partition, first.first_offset, first.origin.get()));
  recalled_.insert(first.partition);
  return {};
}

Result<void> SinkDriver::write(MadeBatches& made, std::size_t writer) {
  MILLRACE_TRY(ask(made, writer));
  for (SealedBatch& batch : made.batches) MILLRACE_TRY(writers_.at(writer)->write(batch));
  return {};
}

bool SinkDriver::write_three(MadeBatches& made, std::uint64_t first) {
  if ((!sink_ && !start()) || !make(PartitionId(0), first, 3, made)) return false;
  if (auto written = write(made); !written) {
    failure_ = "a write failed: " + written.error().message();
    return false;
  }
  return true;
}

}  // namespace millrace::conformance
