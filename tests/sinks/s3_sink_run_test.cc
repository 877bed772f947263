// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "connectors/s3/sink.h"
#include "millrace/testing/faulty_store.h"
#include "millrace/testing/memory_store.h"
#include "sink_run.h"

namespace millrace::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Error unavailable() { return Error::retryable(ErrorCode::unavailable, "503 SlowDown"); }

class S3SinkRun : public ::testing::Test {
 protected:
  S3SinkRun() {
    options_.url = "s3://b/out";
    options_.path_template = "{topic}";
    options_.wrap = false;
    options_.file_rotation = FileRotation::messages;
    options_.max_messages_per_file = 10;
    options_.retry_delay = std::chrono::milliseconds(1);
    options_.probe = false;
  }
  Result<std::unique_ptr<Sink>> sink() {
    MILLRACE_ASSIGN(auto checked, s3_sink::check(options_));
    return s3_sink::make_sink(std::move(checked),
                              [this](const StoreUrl&, const StoreOptions&, const StoreContext&) { return faulty_; });
  }
  /// The store as it is, without its faults and its past.
  void heal() {
    faulty_ = std::make_shared<FaultyStore>(memory_);
    memory_->clear_requests();
  }
  /// Every line of every object, and how often it is there.
  std::map<std::string, int> lines() const {
    std::map<std::string, int> all;
    for (const auto& [key, body] : memory_->contents()) {
      for (std::size_t begin = 0; begin < body.size();) {
        const std::size_t end = body.find('\n', begin);
        ++all[body.substr(begin, end - begin)];
        begin = end == std::string::npos ? body.size() : end + 1;
      }
    }
    return all;
  }
  static std::map<std::string, int> once_each(std::uint32_t partitions, std::size_t records) {
    std::map<std::string, int> all;
    for (std::uint32_t p = 0; p < partitions; ++p) {
      for (std::size_t i = 0; i < records; ++i) all[record(p, i)] = 1;
    }
    return all;
  }
  S3SinkOptions options_;
  std::shared_ptr<MemoryStore> memory_ = std::make_shared<MemoryStore>();
  std::shared_ptr<FaultyStore> faulty_ = std::make_shared<FaultyStore>(memory_);
};

// INV-1, J08: each record once, one PUT for each object and no other request.
TEST_F(S3SinkRun, INV1_EveryRecordOnceAndOnePutForEachObject) {
  const auto topic = topic_of(3, 95);
  const RunReport report = run_into(sink(), topic);
  ASSERT_EQ(report.state, ExitState::completed) << why(report);
  EXPECT_EQ(lines(), once_each(3, 95));
  EXPECT_EQ(memory_->contents().size(), 30U);
  EXPECT_EQ(memory_->requests().size(), 30U);
  EXPECT_EQ(memory_->count(StoreOp::put), 30U);
  EXPECT_EQ(report.batches_written, 30U) << "K22";
  EXPECT_EQ(report.records_out, 285U);
  for (const PartitionId p : topic->partitions()) EXPECT_EQ(topic->committed().at(p), Watermark(95));
  // Names tell what is inside: the first and the last file of partition 2, worked out by hand.
  const auto contents = memory_->contents();
  EXPECT_TRUE(contents.contains("out/memory/00002-00000000000000000000-00000000000000000009.jsonl"));
  EXPECT_TRUE(contents.contains("out/memory/00002-00000000000000000090-00000000000000000094.jsonl"));
}

// K01: all PUTs are refused; nothing is committed; the next run writes everything.
TEST_F(S3SinkRun, K01_NothingIsCommittedBeforeItIsStored) {
  options_.on_upload_failure = OnWriteFailure::fail;
  faulty_->add({.op = StoreOp::put, .times = Fault::kAlways, .error = unavailable()});
  const auto topic = topic_of(1, 100);
  const RunReport failed = run_into(sink(), topic);
  EXPECT_EQ(failed.state, ExitState::failed);
  ASSERT_TRUE(failed.error);
  EXPECT_THAT(failed.error->message(), HasSubstr("503 SlowDown"));
  EXPECT_TRUE(topic->committed().empty()) << "offset " << topic->position(PartitionId(0)).value();
  EXPECT_TRUE(memory_->contents().empty());
  EXPECT_EQ(failed.batches_written, 0U) << "K22";
  heal();
  const RunReport report = run_into(sink(), topic);
  ASSERT_EQ(report.state, ExitState::completed) << why(report);
  EXPECT_EQ(lines(), once_each(1, 100));
}

// K17: forbidden in the middle of a run ends it; what was stored before is committed, the rest comes with the next.
TEST_F(S3SinkRun, K17_ForbiddenStopsAndLosesNothing) {
  options_.upload_concurrency = 1;
  faulty_->add({.op = StoreOp::put,
                .nth = 4,
                .times = Fault::kAlways,
                .error = Error::fatal(ErrorCode::permission_denied, "403 AccessDenied")});
  const auto topic = topic_of(1, 100);
  const RunReport failed = run_into(sink(), topic);
  EXPECT_EQ(failed.state, ExitState::failed);
  EXPECT_EQ(failed.exit_code(), 1);
  EXPECT_EQ(memory_->contents().size(), 3U);
  EXPECT_LE(topic->position(PartitionId(0)).value(), 30);
  heal();
  const RunReport report = run_into(sink(), topic);
  ASSERT_EQ(report.state, ExitState::completed) << why(report);
  EXPECT_EQ(lines(), once_each(1, 100));
}

// Errors that pass, and answers that are lost after the put has worked (J06): each record is there exactly once.
TEST_F(S3SinkRun, J06_LostAnswersMakeNoDuplicates) {
  for (std::uint64_t nth = 1; nth < 40; nth += 3) {
    faulty_->add({.op = StoreOp::put, .nth = nth, .error = unavailable(), .done_anyway = nth % 2 == 0});
  }
  const auto topic = topic_of(2, 100);
  const RunReport report = run_into(sink(), topic);
  ASSERT_EQ(report.state, ExitState::completed) << why(report);
  EXPECT_GE(faulty_->hits(), 7U);
  EXPECT_EQ(lines(), once_each(2, 100));
}

// J03: records of 3 and of 7 megabytes; files that grow beyond the threshold go in equal parts, the others in one PUT.
TEST_F(S3SinkRun, J03_LargeFilesGoInParts) {
  options_.file_rotation = FileRotation::size;
  options_.max_messages_per_file = 0;
  options_.max_file_size = ByteSize{10'000'000};
  options_.multipart_threshold = ByteSize{8'000'000};
  options_.part_size = ByteSize{5U << 20U};
  const auto topic = std::make_shared<MemoryTopic>(1);
  std::string all;
  for (int i = 0; i < 5; ++i) {
    const std::string body =
        fmt::format("{{\"n\":{},\"x\":\"{}\"}}", i, std::string(i % 2 == 0 ? 3'000'000 : 7'000'000, 'x'));
    topic->append(PartitionId(0), body);
    all += body + "\n";
  }
  topic->end();
  faulty_->add({.op = StoreOp::put_part, .nth = 2, .error = unavailable()});
  const RunReport report = run_into(sink(), topic);
  ASSERT_EQ(report.state, ExitState::completed) << why(report);
  std::string stored;
  for (const auto& [key, body] : memory_->contents()) stored += body;
  EXPECT_TRUE(stored == all) << "in the order of the keys; nothing of the sink's own is left";
  // 3 + 7 MB is a file of two parts, twice; the last 3 MB are one PUT. Each upload is noted once, by one PUT.
  std::vector<std::uint64_t> parts;
  for (const auto& request : memory_->requests()) {
    if (request.op == StoreOp::put_part) parts.push_back(request.size);
  }
  std::ranges::sort(parts);
  ASSERT_EQ(parts.size(), 4U);
  EXPECT_EQ(parts[2], 5U << 20U);
  EXPECT_EQ(parts[3], 5U << 20U);
  EXPECT_EQ(memory_->count(StoreOp::put), 1U + 2U);
  EXPECT_EQ(memory_->count(StoreOp::complete_upload), 2U);
  EXPECT_TRUE(memory_->open_uploads().empty());
}

// A crash between the last put and the commit: the same records come again, make the same files, and find them there.
TEST_F(S3SinkRun, AReplayFindsItsOwnFiles) {
  ASSERT_EQ(run_into(sink(), topic_of(2, 47)).state, ExitState::completed);
  const auto before = memory_->contents();
  memory_->clear_requests();
  const RunReport report = run_into(sink(), topic_of(2, 47));  // a topic whose commits were lost
  ASSERT_EQ(report.state, ExitState::completed) << why(report);
  EXPECT_EQ(memory_->contents(), before);
  EXPECT_EQ(memory_->count(StoreOp::head), memory_->count(StoreOp::put));
}

// K02, K12: another job with other bytes under the same keys ends the run and changes nothing.
TEST_F(S3SinkRun, K12_SomebodyElsesFilesStay) {
  memory_->set("out/memory/00000-00000000000000000000-00000000000000000009.jsonl", "theirs\n");
  const auto topic = topic_of(1, 20);
  const RunReport report = run_into(sink(), topic);
  EXPECT_EQ(report.state, ExitState::failed);
  ASSERT_TRUE(report.error);
  EXPECT_EQ(report.error->code(), ErrorCode::already_exists);
  EXPECT_EQ(memory_->contents().begin()->second, "theirs\n");
  EXPECT_TRUE(topic->committed().empty());
}

// C14: every object is one valid array; the range in its name is its length.
TEST_F(S3SinkRun, C14_EveryArrayIsWhole) {
  options_.output_format = OutputFormat::json_array;
  options_.max_messages_per_file = 400;
  for (const std::size_t count : {1U, 2U, 1000U}) {
    memory_ = std::make_shared<MemoryStore>();
    heal();
    ASSERT_EQ(run_into(sink(), topic_of(1, count)).state, ExitState::completed);
    std::size_t records = 0;
    for (const auto& [key, body] : memory_->contents()) {
      const auto array = nlohmann::json::parse(body, nullptr, false);
      ASSERT_TRUE(array.is_array()) << key << ": " << body.substr(0, 100);
      const std::size_t first = std::stoul(key.substr(key.size() - 46, 20));
      const std::size_t last = std::stoul(key.substr(key.size() - 25, 20));
      EXPECT_EQ(array.size(), last - first + 1) << key;
      for (std::size_t i = 0; i < array.size(); ++i) EXPECT_EQ(array[i]["n"], first + i);
      records += array.size();
    }
    EXPECT_EQ(records, count);
  }
}

// C15: what the payloads are can be told apart again by the delimiter.
TEST_F(S3SinkRun, C15_RawWithADelimiter) {
  options_.output_format = OutputFormat::raw;
  options_.wrap = true;
  options_.delimiter = "\x1e";
  auto topic = std::make_shared<MemoryTopic>(1);
  for (const char* payload : {"a\nb", "", "c\r\n"}) topic->append(PartitionId(0), payload);
  topic->end();
  ASSERT_EQ(run_into(sink(), topic).state, ExitState::completed);
  EXPECT_THAT(memory_->contents(),
              ElementsAre(::testing::Pair("out/memory/00000-00000000000000000000-00000000000000000002.bin",
                                          "a\nb\x1e\x1e"
                                          "c\r\n\x1e")));
}

// The wrapper of the seed, field by field, as bytes.
TEST_F(S3SinkRun, TheWrapper) {
  options_.wrap = true;
  ASSERT_EQ(run_into(sink(), topic_of(1, 2)).state, ExitState::completed);
  const auto contents = memory_->contents();
  ASSERT_EQ(contents.size(), 1U);
  const std::string& body = contents.begin()->second;
  const std::string first = body.substr(0, body.find('\n'));
  EXPECT_EQ(first.find("{\"offset\":0,"), 0U) << first;
  EXPECT_THAT(first, ::testing::EndsWith("\"partition_id\":0,\"payload\":{\"p\":0,\"n\":0}}"));
}

// K18: no records, no object; the end is committed all the same.
TEST_F(S3SinkRun, K18_NothingToWriteIsNoObject) {
  options_.probe = true;
  const RunReport report = run_into(sink(), topic_of(2, 0));
  ASSERT_EQ(report.state, ExitState::completed) << why(report);
  EXPECT_TRUE(memory_->contents().empty());
}

// A mistake in the configuration is found before anything is written, or aborted, in the store.
TEST_F(S3SinkRun, AWrongSpoolIsFoundBeforeTheStoreIsTouched) {
  options_.probe = true;
  options_.cleanup_uploads = true;
  options_.spool_dir = "/nowhere/at/all";
  const RunReport report = run_into(sink(), topic_of(1, 5));
  EXPECT_EQ(report.state, ExitState::failed);
  EXPECT_EQ(report.exit_code(), 2);
  ASSERT_TRUE(report.error);
  EXPECT_THAT(report.error->message(), HasSubstr("'/nowhere/at/all'"));
  EXPECT_TRUE(memory_->requests().empty());
}

}  // namespace
}  // namespace millrace::testing
