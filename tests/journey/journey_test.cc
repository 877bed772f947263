// SPDX-License-Identifier: Apache-2.0
// Goal: one object of three lines walks the data's way; each row's test stands at one hand-over and asserts what is
// handed over and who owns it. Method: every test goes from the store up to its row by calling the stages one after the
// other, without a pipeline. The object was made by `printf '{"n":1}\r\n\n{"n":2}\n{"n":3}' | gzip -n`, so it has a
// CRLF, a blank line and an unterminated last record.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "formats/ndjson/framer.h"
#include "millrace/checkpoint/checkpointer.h"
#include "millrace/codec/decompressor.h"
#include "millrace/connectors/s3.h"
#include "millrace/decode/json.h"
#include "millrace/encode/encode.h"
#include "millrace/framing/frame_reader.h"
#include "millrace/ops/ops.h"
#include "millrace/pipeline/compile.h"
#include "millrace/sink/lane_sink.h"
#include "millrace/source/source.h"
#include "millrace/store/store_url.h"
#include "millrace/testing/sealed_shelf.h"

namespace millrace {
namespace {

using Lines = std::vector<std::string>;

constexpr unsigned char kObject[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0xab, 0x56, 0xca,
                                     0x53, 0xb2, 0x32, 0xac, 0xe5, 0xe5, 0xe2, 0xaa, 0x06, 0xb1, 0x8c, 0x6a, 0x21,
                                     0xb4, 0x71, 0x2d, 0x00, 0xd9, 0x5c, 0x96, 0x89, 0x19, 0x00, 0x00, 0x00};
const std::string kPlain = "{\"n\":1}\r\n\n{\"n\":2}\n{\"n\":3}";
// The offset of a record is its index in the first object; the watermark of the whole object is the reserved index
// 2^40-1.
constexpr std::int64_t kObjectComplete = (std::int64_t{1} << 40) - 1;

class Journey : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::temp_directory_path() / fmt::format("millrace-journey-{}-{}", getpid(), counter_++);
    std::filesystem::create_directories(root_ / "in");
    std::ofstream(root_ / "in" / "three.ndjson.gz", std::ios::binary)
        .write(reinterpret_cast<const char*>(kObject), sizeof kObject);
  }
  void TearDown() override {
    lane_.reset();
    source_.reset();
    std::filesystem::remove_all(root_);
  }

  std::string url(const std::string& path) const { return "file://" + (root_ / path).string(); }
  std::string key(const std::string& path) const { return (root_ / path).string().substr(1); }
  std::shared_ptr<ObjectStore> store() {
    auto opened = open_store(*StoreUrl::parse(url("in/")), {}, {});
    EXPECT_TRUE(opened) << opened.error().message();
    return *std::move(opened);
  }

  // Row 4 from the top: a source on the folder, its one lane.
  void open_source() {
    S3SourceOptions options;
    options.url = url("in/");
    options.lanes = 1;
    options.name = "input";
    options.checkpoint.url = url("state/manifest.json");
    auto made = S3Source::make(options, BuildContext{.pipeline = "journey"});
    ASSERT_TRUE(made) << made.error().message();
    source_ = *std::move(made);
    SourceContext context;
    context.acks = checkpointer_.issuer();
    context.pipeline = "journey";
    ASSERT_TRUE(source_->open(std::move(context)));
    while (!lane_) {
      auto event = source_->poll_events(std::chrono::seconds(10));
      ASSERT_TRUE(event) << event.error().message();
      if (auto* assigned = std::get_if<LanesAssigned>(&*event)) lane_ = std::move(assigned->lanes.at(0));
    }
    checkpointer_.begin_epoch(std::vector{lane_->partition()});
    issuer_ = checkpointer_.issuer();
  }
  // The next batch; nothing when the lane is exhausted.
  std::optional<PayloadBatch> poll() {
    for (;;) {
      auto polled = lane_->poll(4096, std::chrono::seconds(10));
      EXPECT_TRUE(polled) << polled.error().message();
      if (!polled || std::holds_alternative<Exhausted>(*polled)) return std::nullopt;
      if (auto* batch = std::get_if<PayloadBatch>(&*polled)) return std::move(*batch);
    }
  }
  void open_chain() {
    outputs_.add("sink", std::make_unique<LaneSink>(
                             LaneSink::Options{.lane = lane_->id(), .partition = lane_->partition()}, shelf_));
    ChainContext context;
    context.outputs = &outputs_;
    auto compiled = compile(decode::json() | ops::filter([](const decode::Json& json) {
                              return std::string_view(json).find('2') == std::string_view::npos;
                            }) | encode::raw({.delimiter = "\n"}),
                            context);
    ASSERT_TRUE(compiled) << compiled.error().message();
    chain_ = *std::move(compiled);
  }
  // Rows 4 to 8: every batch of the lane through the chain, then sealed.
  void fill_shelf() {
    open_source();
    open_chain();
    batches_ = 0;
    while (auto batch = poll()) {
      ++batches_;
      AckRef ack = std::move(batch->ack);
      const ChainStep step = chain_->run(*batch, 0, ack, issuer_, counts_);
      ASSERT_FALSE(step.error) << step.error->message();
      ASSERT_EQ(step.next, batch->payloads.size());
    }
    outputs_.find("")->seal(SealReason::lane_end);
  }
  Result<Receipt> write(SealedBatch& batch) {
    if (!writer_) {
      S3SinkOptions options;
      options.url = url("out/");
      options.output_format = OutputFormat::raw;
      options.delimiter = "\n";
      options.path_template = "{topic}";
      auto made = S3Sink::make(options, BuildContext{.pipeline = "journey"});
      if (!made) return fail(std::move(made).error());
      sink_ = *std::move(made);
      MILLRACE_TRY(sink_->open(SinkContext{.pipeline = "journey"}));
      MILLRACE_ASSIGN(writer_, sink_->make_writer());
    }
    return writer_->write(batch);
  }
  std::string file(const std::string& path) const {
    std::ifstream stream(root_ / path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  // One sorted line a file below `folder`, its bytes behind its name.
  Lines files(const std::string& folder) const {
    Lines found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root_ / folder)) {
      if (entry.is_regular_file() && !entry.path().filename().string().starts_with(".")) {
        found.push_back(std::filesystem::relative(entry.path(), root_ / folder).string());
      }
    }
    return found;
  }

  std::filesystem::path root_;
  Checkpointer checkpointer_;
  AckIssuer issuer_;
  std::unique_ptr<Source> source_;
  std::unique_ptr<SourceLane> lane_;
  millrace::testing::SealedShelf shelf_;
  LaneOutputs outputs_;
  std::unique_ptr<LaneChain> chain_;
  ChainCounts counts_;
  std::uint64_t batches_ = 0;  ///< that fill_shelf() polled
  std::unique_ptr<Sink> sink_;
  std::unique_ptr<Writer> writer_;
  inline static int counter_ = 0;
};

TEST_F(Journey, Row1_Store_GivesTheBytesOfOneVersion) {
  const auto stored = store();
  auto page = stored->list({.prefix = key("in/")});
  ASSERT_TRUE(page) << page.error().message();
  ASSERT_EQ(page->objects.size(), 1U);
  ByteChunk chunk = ByteChunk::allocate(sizeof kObject);
  EventCount arrived;
  const auto ticket = arrived.ticket();
  std::optional<ReadOutcome> outcome;
  stored->start_read({.key = page->objects[0].key,
                      .destination = chunk.writable(),
                      .if_match = page->objects[0].etag,
                      .expected_object_size = sizeof kObject,
                      .done = [&](ReadOutcome ended) {
                        outcome = std::move(ended);
                        arrived.signal();
                      }});
  ASSERT_TRUE(arrived.wait_until(ticket, Clock::real(), Clock::real().now() + std::chrono::seconds(30)));
  ASSERT_TRUE(outcome->info) << outcome->info.error().message();
  chunk.set_size(outcome->received);
  EXPECT_EQ(chunk.view(), std::string_view(reinterpret_cast<const char*>(kObject), sizeof kObject));
}

TEST_F(Journey, Row2_Codec_InflatesIntoTheLanesBuffer) {
  const auto decompressor = make_decompressor(Codec::gzip, {});
  std::string scratch(100, '.');
  auto progress = decompressor->decompress({reinterpret_cast<const char*>(kObject), sizeof kObject}, scratch);
  ASSERT_TRUE(progress) << progress.error().message();
  EXPECT_EQ(scratch.substr(0, progress->produced), kPlain);
  EXPECT_TRUE(decompressor->finish());
}

TEST_F(Journey, Row3_Framing_CutsViewsOfTheWindow) {
  const auto framer = ndjson::make_ndjson_framer({});
  std::string window = kPlain + std::string(kBytePadding, '\0');
  const std::string_view bytes(window.data(), kPlain.size());
  Frames frames;
  auto consumed = framer->frame(bytes, true, 10, frames);
  ASSERT_TRUE(consumed) << consumed.error().message();
  EXPECT_EQ(*consumed, kPlain.size());
  EXPECT_EQ(Lines(frames.begin(), frames.end()), (Lines{"{\"n\":1}", "{\"n\":2}", "{\"n\":3}"}));
  EXPECT_EQ(frames[0].data(), window.data()) << "a frame is a view, not a copy";
}

TEST_F(Journey, Row4_Source_LendsABatchWithOneAck) {
  open_source();
  Lines lines;
  std::int64_t offset = 0;
  std::uint64_t batches = 0;
  while (const auto batch = poll()) {
    for (std::size_t i = 0; i < batch->payloads.size(); ++i) {
      EXPECT_EQ(batch->offset(i), Offset(offset++));
      lines.emplace_back(batch->payloads[i]);
    }
    EXPECT_EQ(batch->origin->object, key("in/three.ndjson.gz"));
    EXPECT_TRUE(batch->ack);
    EXPECT_EQ(issuer_.pending(lane_->partition()), ++batches);
  }
  EXPECT_EQ(lines, (Lines{"{\"n\":1}", "{\"n\":2}", "{\"n\":3}"}));
}

TEST_F(Journey, Row5_Decode_KeepsTheRecordsBytes) {
  fill_shelf();
  EXPECT_EQ(counts_.records_in, 3U);
  EXPECT_EQ(counts_.records_decoded, 3U);
  EXPECT_EQ(counts_.payload_bytes, 21U);
  EXPECT_TRUE(counts_.skipped.empty());
}

TEST_F(Journey, Row6_Ops_DropWithoutTouchingAcks) {
  fill_shelf();
  EXPECT_EQ(counts_.filtered, 1U);
  EXPECT_EQ(counts_.records_out, 2U);
}

TEST_F(Journey, Row7_Encode_EndsTheBorrowing) {
  fill_shelf();
  lane_.reset();  // and with it everything it lent
  EXPECT_EQ(shelf_.batches.at(0).chunk.bytes.view(), "{\"n\":1}\n{\"n\":3}\n");
}

TEST_F(Journey, Row8_Sink_SealsWithWhatItAnswersFor) {
  fill_shelf();
  ASSERT_EQ(shelf_.batches.size(), 1U);
  const SealedBatch& sealed = shelf_.batches[0];
  EXPECT_EQ(sealed.reason, SealReason::lane_end);
  EXPECT_EQ(sealed.chunk.records, 2U);
  EXPECT_EQ(sealed.chunk.first_offset, Offset(0));
  EXPECT_EQ(sealed.chunk.last_offset, Offset(2));
  EXPECT_GE(sealed.chunk.acks.size(), 1U);
  EXPECT_LE(sealed.chunk.acks.size(), batches_) << "one reference a batch at most";
  EXPECT_EQ(issuer_.pending(lane_->partition()), batches_) << "sealed is not durable";
}

TEST_F(Journey, Row9_Sink_WritesDurably) {
  fill_shelf();
  auto receipt = write(shelf_.batches.at(0));
  ASSERT_TRUE(receipt) << receipt.error().message();
  EXPECT_EQ(files("out"), (Lines{"input/00000-00000000000000000000-00000000000000000002.bin"}));
  EXPECT_EQ(file("out/input/00000-00000000000000000000-00000000000000000002.bin"), "{\"n\":1}\n{\"n\":3}\n");
  ASSERT_TRUE(write(shelf_.batches.at(0))) << "the same batch again is the same object: success";
  EXPECT_EQ(files("out").size(), 1U);
}

TEST_F(Journey, Row10_Ack_ResolvesWhenTheLastHolderLetsGo) {
  fill_shelf();
  checkpointer_.drain();
  EXPECT_GE(issuer_.pending(lane_->partition()), 1U);
  shelf_.batches.at(0).chunk.acks.deliver();
  const auto drained = checkpointer_.drain();
  EXPECT_GE(drained.applied, 1U);
  EXPECT_EQ(drained.failed, 0U);
  EXPECT_EQ(issuer_.pending(lane_->partition()), 0U);
}

TEST_F(Journey, Row11_Checkpoint_AdvancesOnePastTheObject) {
  fill_shelf();
  EXPECT_TRUE(checkpointer_.take_watermarks().empty());
  shelf_.batches.at(0).chunk.acks.deliver();
  checkpointer_.drain();
  EXPECT_EQ(checkpointer_.take_watermarks(),
            (std::vector<PartitionWatermark>{{PartitionId(0), Watermark(kObjectComplete)}}));
}

// And a crash before it: the batch is durable, the manifest does not know. The next run reads again and makes the same
// object.
TEST_F(Journey, Row12_Source_CommitsAndResumes) {
  fill_shelf();
  ASSERT_TRUE(write(shelf_.batches.at(0)));
  lane_.reset();
  source_->close();
  source_.reset();  // gone before row 12
  shelf_.batches.clear();
  outputs_ = {};
  checkpointer_.drain();

  fill_shelf();
  ASSERT_EQ(shelf_.batches.size(), 1U) << "what was not committed comes again";
  ASSERT_TRUE(write(shelf_.batches.at(0)));
  EXPECT_EQ(files("out").size(), 1U);
  shelf_.batches.at(0).chunk.acks.deliver();
  checkpointer_.drain();
  ASSERT_TRUE(source_->commit(checkpointer_.take_watermarks()));
  ASSERT_TRUE(source_->flush_commits());
  EXPECT_NE(file("state/manifest.json").find(fmt::format("\"watermark\": {}", kObjectComplete)), std::string::npos)
      << file("state/manifest.json");
  lane_.reset();
  source_->close();
  source_.reset();

  open_source();
  EXPECT_FALSE(poll()) << "what is committed does not come again";
}

}  // namespace
}  // namespace millrace
