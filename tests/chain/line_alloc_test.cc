// SPDX-License-Identifier: Apache-2.0
// Goal: from the bytes of an object to the sealed chunk a record costs no allocation (INV-8): framing, batch and ack,
// decoding, operators, encoding, sealing, and the acks on their way back. Method: one lane reads plain and gzip objects
// of one chunk and of ten, warm, with every allocation of the program counted; a chunk may cost a few, a batch and a
// record none.
#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/ndjson/framer.h"
#include "millrace/base/borrow.h"
#include "millrace/checkpoint/checkpointer.h"
#include "millrace/decode/json.h"
#include "millrace/encode/encode.h"
#include "millrace/framing/frame_reader.h"
#include "millrace/ops/ops.h"
#include "millrace/pipeline/compile.h"
#include "tests/chain/allocation_count.h"

namespace millrace {
namespace {

constexpr PartitionId kPartition{3};
constexpr std::size_t kLinesPerChunk = 2000;
constexpr std::size_t kLineBytes = 100;
#if defined(MILLRACE_ASAN)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

struct Reading {
  std::uint64_t n = 0;
  std::string_view note;
};
MILLRACE_JSON_FIELDS(Reading, n, note);

// Lines of kLineBytes with their newline; every second n is odd.
std::string lines(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    std::string line = R"({"n":)" + std::to_string(1'000'000 + i) + R"(,"note":")";
    line.resize(kLineBytes - 3, 'x');
    text += line + "\"}\n";
  }
  return text;
}

// One stored block a line, made by hand, without a trailer: as much of a gzip file as a reader sees before its end.
std::string gzip_of(const std::string& plain) {
  std::string bytes("\x1F\x8B\x08\x00\0\0\0\0\0\x03", 10);
  for (std::size_t at = 0; at < plain.size(); at += kLineBytes) {
    bytes += std::string("\x00\x64\x00\x9B\xFF", 5) + plain.substr(at, kLineBytes);
  }
  return bytes;
}

// What the I/O threads do, at once: the chunk is durable, its buffer comes back.
class InstantQueue final : public SealedBatchQueue {
 public:
  bool try_push(SealedBatch& batch) override {
    ++chunks;
    bytes += batch.chunk.bytes.size();
    batch.chunk.acks.deliver();
    spare_ = std::move(batch.chunk.bytes);
    spare_.clear();
    return true;
  }
  ByteBuffer take_buffer() override { return std::exchange(spare_, ByteBuffer()); }
  std::size_t chunks = 0;
  std::size_t bytes = 0;

 private:
  ByteBuffer spare_;
};

class Lane {
 public:
  template <class Plan>
  explicit Lane(Plan plan) {
    std::ignore = checkpointer_.begin_epoch(std::vector{kPartition});
    issuer_ = checkpointer_.issuer();
    LaneSink::Options sink;
    sink.partition = kPartition;
    sink.policy.max_records = kLinesPerChunk / 2;
    outputs_.add("sink", std::make_unique<LaneSink>(sink, queue));
    ChainContext context;
    context.partition = kPartition;
    context.outputs = &outputs_;
    chain_ = compile(std::move(plan), context).value();
  }

  // Reads an object as the S3 lane and the lane loop do; returns the allocations it took.
  std::size_t read(std::string_view bytes, Decompressor* decompressor) {
    queue.chunks = queue.bytes = batches = 0;
    const std::size_t before = allocation_count();
    reader_.start(decompressor);
    for (;;) {
      const auto status = reader_.next(500, frames_);
      if (!status) return SIZE_MAX;
      if (!frames_.empty()) run_batch();
      if (*status != FrameReader::Status::needs_chunk) continue;
      if (bytes.empty()) return allocation_count() - before;
      ByteChunk chunk = pool_->take();
      const std::size_t size = std::min(pool_->capacity(), bytes.size());
      bytes.copy(chunk.data(), size);
      chunk.set_size(size);
      bytes.remove_prefix(size);
      reader_.push(std::move(chunk));
    }
  }
  std::int64_t watermark() {
    const auto moved = checkpointer_.take_watermarks();
    return moved.empty() ? -1 : moved.at(0).watermark.value();
  }

  InstantQueue queue;
  std::int64_t records = 0;
  std::size_t batches = 0;

 private:
  void run_batch() {
    ++batches;
    PayloadBatch batch;
    batch.payloads = frames_;
    batch.partition = kPartition;
    batch.base_offset = Offset(records);
    batch.readable_padding = kBytePadding;
    records += static_cast<std::int64_t>(frames_.size());
    AckRef ack = issuer_.issue(kPartition, Offset(records - 1));
    const ChainStep step = chain_->run(batch, 0, ack, issuer_, counts_);
    EXPECT_TRUE(!step.error && step.next == frames_.size());
    ack.reset();
    checkpointer_.drain();
    frames_.clear();
  }

  Checkpointer checkpointer_;
  AckIssuer issuer_;
  LaneOutputs outputs_;
  std::unique_ptr<LaneChain> chain_;
  FrameReader reader_{ndjson::make_ndjson_framer({})};
  std::shared_ptr<ChunkPool> pool_ = ChunkPool::make(100'000, 4096, 8);
  Frames frames_;
  ChainCounts counts_;
};

// The chain keeps every second line; `line_bytes` of each are written.
template <class Plan>
void expect_no_allocation_per_record(Plan plan, std::size_t line_bytes) {
  Lane lane(std::move(plan));
  const auto gzip = make_decompressor(Codec::gzip, {});
  const std::string one = lines(kLinesPerChunk);
  const std::string ten = lines(10 * kLinesPerChunk);
  for (Decompressor* decompressor : {static_cast<Decompressor*>(nullptr), gzip.get()}) {
    const std::string small = decompressor != nullptr ? gzip_of(one) : one;
    const std::string large = decompressor != nullptr ? gzip_of(ten) : ten;
    ASSERT_NE(lane.read(large, decompressor), SIZE_MAX);  // every buffer has its size now
    const std::size_t of_one = lane.read(small, decompressor);
    EXPECT_EQ(lane.queue.chunks, 1U);
    EXPECT_EQ(lane.queue.bytes, kLinesPerChunk / 2 * line_bytes);
    const std::size_t of_ten = lane.read(large, decompressor);
    EXPECT_EQ(lane.queue.chunks, 10U);
    // A chunk costs the list of its acks, which grows to five, and a place in the queue. A batch or a record costs
    // none; but that sanitized builds take a decoded window from its reader after each batch, to see who still looks at
    // it.
    EXPECT_LT(lane.batches, 60U);
    const std::size_t windows = kSanitized && decompressor != nullptr ? lane.batches : 0;
    EXPECT_LE(of_ten, 5 * lane.queue.chunks + windows);
    EXPECT_LE(of_one, of_ten / 5);
    EXPECT_EQ(lane.watermark(), lane.records);
  }
}

TEST(LineAllocations, INV8_FromBytesToTheSealedChunkALineCostsNone) {
  expect_no_allocation_per_record(
      decode::json() | ops::filter([](std::string_view line) { return line[11] % 2 == 1; }) | encode::json_lines(),
      kLineBytes);
}

TEST(LineAllocations, INV8_ATypedLineCostsNone) {
  expect_no_allocation_per_record(decode::json<Reading>() |
                                      ops::filter([](const Reading& reading) { return reading.n % 2 == 1; }) |
                                      ops::map([](const Reading& reading) { return reading; }) | encode::json_lines(),
                                  kLineBytes);
}

}  // namespace
}  // namespace millrace
