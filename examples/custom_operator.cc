// SPDX-License-Identifier: Apache-2.0
// An operator with a memory, and how to try a chain without a pipeline: a source, its lane, a chain and a checkpointer,
// driven by hand on one thread. The operator drops a reading that says what the one before it said; one copy of it
// lives in each lane, so it needs no lock.
#include <millrace/checkpoint/checkpointer.h>
#include <millrace/decode/json.h>
#include <millrace/encode/encode.h>
#include <millrace/ops/ops.h>
#include <millrace/pipeline/compile.h>
#include <millrace/testing/memory_source.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace {

struct Reading {
  std::string_view sensor;
  double value = 0;
};
MILLRACE_JSON_FIELDS(Reading, sensor, value);

// The operator: any callable will do.
class Changed {
 public:
  bool operator()(const Reading& reading) {
    // A record borrows its payload until it is encoded: what is kept longer is copied.
    if (last_ && last_sensor_ == reading.sensor && *last_ == reading.value) return false;
    last_sensor_ = reading.sensor;
    last_ = reading.value;
    return true;
  }

 private:
  std::string last_sensor_;
  std::optional<double> last_;
};

// In place of the threads that write: keeps what the lane has sealed.
class Sealed final : public millrace::SealedBatchQueue {
 public:
  bool try_push(millrace::SealedBatch& batch) override {
    batches.push_back(std::move(batch));
    return true;
  }
  millrace::ByteBuffer take_buffer() override { return {}; }
  std::vector<millrace::SealedBatch> batches;
};

int complain(const millrace::Error& error) {
  std::fprintf(stderr, "%s\n", error.message().c_str());
  return 1;
}

}  // namespace

int main() {
  const auto topic = std::make_shared<millrace::testing::MemoryTopic>(1);
  for (const std::string_view reading : {R"({"sensor":"a","value":1})", R"({"sensor":"a","value":1})",
                                         R"({"sensor":"a","value":2})", R"({"sensor":"b","value":2})"}) {
    topic->append(millrace::PartitionId(0), std::string(reading));
  }
  topic->end();

  // What a pipeline does with a source, by hand.
  millrace::Checkpointer checkpointer;
  const auto source = millrace::testing::MemorySource::make(topic).value();
  millrace::SourceContext context;
  context.acks = checkpointer.issuer();
  if (auto opened = source->open(context); !opened) return complain(opened.error());
  auto event = source->poll_events(millrace::Duration::zero());
  if (!event) return complain(event.error());
  const auto lane = std::move(std::get<millrace::LanesAssigned>(*event).lanes.at(0));
  const std::vector partitions{lane->partition()};
  static_cast<void>(checkpointer.begin_epoch(partitions));

  // The chain of that lane, with a sink of its own.
  Sealed sealed;
  millrace::LaneOutputs outputs;
  millrace::LaneSink::Options options;
  options.lane = lane->id();
  options.partition = lane->partition();
  outputs.add("sink", std::make_unique<millrace::LaneSink>(options, sealed));
  millrace::ChainContext chain_context;
  chain_context.lane = lane->id();
  chain_context.partition = lane->partition();
  chain_context.outputs = &outputs;
  const auto chain = millrace::compile(
      millrace::decode::json<Reading>() | millrace::ops::filter(Changed()) | millrace::encode::json_lines(),
      chain_context);
  if (!chain) return complain(chain.error());

  millrace::ChainCounts counts;
  millrace::AckIssuer acks = checkpointer.issuer();
  for (;;) {
    auto polled = lane->poll(100, millrace::Duration::zero());
    if (!polled) return complain(polled.error());
    auto* batch = std::get_if<millrace::PayloadBatch>(&*polled);
    if (batch == nullptr) break;  // Exhausted, as the topic has ended
    millrace::AckRef ack = std::exchange(batch->ack, {});
    const millrace::ChainStep step = (*chain)->run(*batch, 0, ack, acks, counts);
    if (step.error) return complain(*step.error);
  }
  outputs.find("")->seal(millrace::SealReason::lane_end);

  // Nothing is settled before what was written is durable.
  checkpointer.drain();
  const bool early = !checkpointer.take_watermarks().empty();
  for (millrace::SealedBatch& batch : sealed.batches) {
    std::printf("%s", std::string(batch.chunk.bytes.view()).c_str());
    batch.chunk.acks.deliver();
  }
  checkpointer.drain();
  const auto watermarks = checkpointer.take_watermarks();
  std::fprintf(stderr, "%d in, %d unchanged; settled before the write: %s, after it: up to %d\n",
               static_cast<int>(counts.records_in), static_cast<int>(counts.filtered), early ? "yes" : "no",
               static_cast<int>(watermarks.at(0).watermark.value()));
  return early ? 1 : 0;
}
