// SPDX-License-Identifier: Apache-2.0
// Goal: what the S3 sink asks of a store that refuses, request by request, and what it has then said to be delivered.
// Method: whole runs against the fault server; the log of its requests is what is compared.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "millrace/connectors/s3.h"
#include "millrace/decode/raw.h"
#include "millrace/encode/encode.h"
#include "millrace/ops/ops.h"
#include "sink_run.h"
#include "tests/s3_fault_server/fault_server.h"

namespace millrace::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using Json = nlohmann::json;
using Reasons = std::map<std::string, std::uint64_t>;

/// Files of ten records each: out/memory/<partition>-<first>-<last>.jsonl.
std::string file_of(std::int64_t first, std::string_view top = "out") {
  return fmt::format("{}/memory/00000-{:020}-{:020}.jsonl", top, first, first + 9);
}

class SinkOnServer : public ::testing::Test {
 protected:
  SinkOnServer() : server_(started()) {}
  static std::unique_ptr<FaultServer> started() {
    auto server = FaultServer::start();
    EXPECT_TRUE(server) << server.error().message();
    (*server)->create_bucket("b");
    return *std::move(server);
  }
  static S3SinkOptions options(const FaultServer& server, const std::string& url) {
    S3SinkOptions options;
    options.url = url;
    options.path_template = "{topic}";
    options.wrap = false;
    options.file_rotation = FileRotation::messages;
    options.max_messages_per_file = 10;
    options.retry_delay = std::chrono::milliseconds(1);
    options.upload_concurrency = 1;
    options.probe = false;
    options.endpoint = server.endpoint();
    options.region = server.options().region;
    options.access_key_id = server.options().access_key;
    options.secret_access_key = Secret(server.options().secret_key);
    options.store = {{"allow_http", "true"}};
    return options;
  }
  S3SinkOptions dropping() const {
    S3SinkOptions all = options(*server_, "s3://b/out");
    all.on_upload_failure = OnWriteFailure::drop;
    return all;
  }
  RunReport run(const S3SinkOptions& sink, std::shared_ptr<MemoryTopic> topic) {
    return run_into(S3Sink::make(sink), std::move(topic));
  }
  /// With a place of dead letters on a server of its own.
  RunReport run_with_letters(const S3SinkOptions& sink, std::shared_ptr<MemoryTopic> topic) {
    S3SinkOptions letters = options(*letters_server_, "s3://b/bad");
    letters.on_upload_failure = letters_on_failure_;
    letters.max_messages_per_file = 1;
    Pipeline pipeline(quick_run());
    auto made = S3Sink::make(sink);
    EXPECT_TRUE(made);
    const EncodeSpec spec = (*made)->encode_spec();
    pipeline.sink(std::move(made)).dead_letter(S3Sink::make(letters)).chain_factory(make_config_chain({}, spec));
    return pipeline.run(MemorySource::make(std::move(topic)));
  }
  static std::map<std::string, std::string> objects(const FaultServer& server, std::string_view suffix = ".jsonl") {
    std::map<std::string, std::string> all;
    for (const LoggedRequest& request : server.requests("PutObject")) {
      if (!request.key.ends_with(suffix)) continue;
      if (const auto object = server.object("b", request.key)) all[request.key] = *object->bytes;
    }
    return all;
  }
  static void add_lines(const std::string& text, std::map<std::string, int>& all) {
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = text.find('\n', begin);
      ++all[text.substr(begin, end - begin)];
      begin = end + 1;
    }
  }
  static std::map<std::string, int> once_each(std::size_t records) {
    std::map<std::string, int> all;
    for (std::size_t i = 0; i < records; ++i) all[record(0, i)] = 1;
    return all;
  }

  std::unique_ptr<FaultServer> server_;
  std::unique_ptr<FaultServer> letters_server_ = started();
  OnWriteFailure letters_on_failure_ = OnWriteFailure::stall;
};

// J08: with the defaults one create-only PUT for each object, with its length and nothing asked in the query; beside
// them only what the probe does with its own key. Nothing is listed, nothing is read.
TEST_F(SinkOnServer, J08_OnePutForEachObjectAndNothingIsListed) {
  S3SinkOptions sink = options(*server_, "s3://b/out");
  sink.probe = true;
  ASSERT_EQ(run(sink, topic_of(1, 100)).state, ExitState::completed);
  std::vector<std::string> probing;
  std::map<std::string, int> puts;
  for (const LoggedRequest& request : server_->requests()) {
    if (request.key == "out/.millrace-probe") {
      probing.push_back(request.operation);
      continue;
    }
    EXPECT_EQ(request.operation, "PutObject") << request.key;
    EXPECT_EQ(request.status, 200) << request.key;
    EXPECT_EQ(request.http.header("if-none-match"), "*") << request.key;
    EXPECT_EQ(request.http.header("content-length"), std::to_string(request.http.body.size())) << request.key;
    EXPECT_THAT(request.query, IsEmpty()) << request.key;
    ++puts[request.key];
  }
  std::map<std::string, int> expected;
  for (int first = 0; first < 100; first += 10) expected[file_of(first)] = 1;
  EXPECT_EQ(puts, expected);
  EXPECT_THAT(probing, ElementsAre("HeadObject", "PutObject", "PutObject", "DeleteObject"));
}

// J08: what a failure leaves of an upload in parts is aborted: nothing lies in the bucket for which somebody pays.
TEST_F(SinkOnServer, J08_AnUploadThatIsRefusedIsAborted) {
  server_->add_fault("op=UploadPart skip=1 times=every status=403 code=AccessDenied");
  S3SinkOptions sink = options(*server_, "s3://b/out");
  sink.multipart_threshold = ByteSize{64};
  const auto topic = topic_of(1, 100);
  EXPECT_EQ(run(sink, topic).state, ExitState::failed);
  EXPECT_EQ(topic->committed().at(PartitionId(0)), Watermark(10));
  EXPECT_EQ(server_->count("CreateMultipartUpload"), 2U);
  EXPECT_EQ(server_->count("UploadPart"), 2U) << "forbidden is not tried again";
  EXPECT_EQ(server_->count("CompleteMultipartUpload", file_of(0)), 1U);
  EXPECT_EQ(server_->count("AbortMultipartUpload", file_of(10)), 1U);
  EXPECT_EQ(server_->count("AbortMultipartUpload"), 1U);
  EXPECT_THAT(server_->uploads("b"), IsEmpty());
  EXPECT_EQ(server_->count("ListMultipartUploads") + server_->count("ListObjectsV2"), 0U);
  server_->clear_faults();
  ASSERT_EQ(run(sink, topic).state, ExitState::completed);
  std::map<std::string, int> found;
  for (int first = 0; first < 100; first += 10) add_lines(*server_->object("b", file_of(first))->bytes, found);
  EXPECT_EQ(found, once_each(100));
  EXPECT_THAT(server_->uploads("b"), IsEmpty());
}

// A store that is full is waited for, as it may have room again; nothing is lost and nothing given up meanwhile.
TEST_F(SinkOnServer, K16_AFullStoreIsWaitedFor) {
  server_->add_fault("op=PutObject skip=2 times=4 status=507 code=XMinioStorageFull");
  server_->add_fault("op=PutObject times=2 status=403 code=QuotaExceeded");
  const auto topic = topic_of(1, 100);
  const RunReport report = run(options(*server_, "s3://b/out"), topic);
  ASSERT_EQ(report.state, ExitState::completed) << why(report);
  std::map<std::string, int> found;
  for (const auto& [key, bytes] : objects(*server_)) add_lines(bytes, found);
  EXPECT_EQ(found, once_each(100));
  EXPECT_EQ(server_->count("PutObject"), 10U + 6U);
  EXPECT_EQ(topic->committed().at(PartitionId(0)), Watermark(100));
}

// K14: records come while uploads take their time, four at once: each is in one object, whole. What ./dev tsan runs
// too.
TEST_F(SinkOnServer, K14_RecordsComeWhileUploadsAreSlow) {
  server_->set_latency(std::chrono::milliseconds(20));
  S3SinkOptions sink = options(*server_, "s3://b/out");
  sink.upload_concurrency = 4;
  const auto topic = topic_of(1, 1000);
  const RunReport report = run(sink, topic);
  ASSERT_EQ(report.state, ExitState::completed) << why(report);
  std::map<std::string, int> found;
  for (const auto& [key, bytes] : objects(*server_)) add_lines(bytes, found);
  EXPECT_EQ(found, once_each(1000));
  for (const LoggedRequest& request : server_->requests("PutObject")) {
    EXPECT_EQ(request.http.header("content-length"), std::to_string(request.http.body.size())) << request.key;
    EXPECT_EQ(server_->object("b", request.key)->bytes->size(), request.http.body.size()) << request.key;
  }
}

// K21: settings change behind a run that had files open: what it had not committed is written anew under the new ones.
TEST_F(SinkOnServer, K21_OtherNamesAndAnotherFormatLoseNothing) {
  server_->add_fault("op=PutObject skip=3 times=every status=403 code=AccessDenied");
  const auto topic = topic_of(1, 105);
  ASSERT_EQ(run(options(*server_, "s3://b/out"), topic).state, ExitState::failed);
  EXPECT_EQ(topic->committed().at(PartitionId(0)), Watermark(30));
  server_->clear_faults();
  S3SinkOptions other = options(*server_, "s3://b/out");
  other.path_template = "v2/{topic}";
  other.output_format = OutputFormat::raw;
  other.delimiter = "\n";
  other.max_messages_per_file = 25;
  const RunReport report = run(other, topic);
  ASSERT_EQ(report.state, ExitState::completed) << why(report);
  std::map<std::string, int> found;
  for (const auto& [key, bytes] : objects(*server_, ".jsonl")) add_lines(bytes, found);
  EXPECT_EQ(found, once_each(30));
  for (const auto& [key, bytes] : objects(*server_, ".bin")) add_lines(bytes, found);
  EXPECT_EQ(found, once_each(105));
  EXPECT_TRUE(server_->object("b", "out/v2/memory/00000-00000000000000000030-00000000000000000054.bin"));
}

// K17: forbidden is one request, and the end; what was stored before is committed, the rest comes with the next run.
TEST_F(SinkOnServer, K17_AForbiddenPutIsNotRepeatedAndLosesNothing) {
  server_->add_fault("op=PutObject skip=3 times=every status=403 code=AccessDenied");
  const auto topic = topic_of(1, 100);
  const RunReport report = run(options(*server_, "s3://b/out"), topic);
  EXPECT_EQ(report.state, ExitState::failed);
  EXPECT_EQ(report.exit_code(), 1);
  ASSERT_TRUE(report.error);
  EXPECT_THAT(report.error->describe(), HasSubstr("AccessDenied"));
  EXPECT_EQ(server_->count("PutObject"), 4U) << "three that were stored, and the one that was refused";
  EXPECT_EQ(server_->requests().size(), 4U);
  EXPECT_EQ(report.records_out, 30U) << "K22";
  EXPECT_EQ(topic->committed().at(PartitionId(0)), Watermark(30));
  server_->clear_faults();
  ASSERT_EQ(run(options(*server_, "s3://b/out"), topic).state, ExitState::completed);
  std::map<std::string, int> found;
  for (const auto& [key, bytes] : objects(*server_)) add_lines(bytes, found);
  EXPECT_EQ(found, once_each(100));
  EXPECT_EQ(server_->count("PutObject"), 4U + 7U);
}

// The operator's word: so many tries, a marker of three lines where the object would be, and on.
TEST_F(SinkOnServer, K16_AFileThatIsGivenUpLeavesAMarkerAndIsCounted) {
  server_->add_fault(fmt::format("op=PutObject key={} times=every status=503 code=SlowDown", file_of(20)));
  const auto topic = topic_of(1, 100);
  const RunReport report = run(dropping(), topic);
  ASSERT_EQ(report.state, ExitState::completed) << why(report);
  EXPECT_EQ(report.exit_code(), 0);
  EXPECT_EQ(report.writes_dropped, 1U);
  EXPECT_EQ(report.records_out, 90U);
  EXPECT_EQ(report.records_skipped, (Reasons{{"write_dropped", 10}}));
  EXPECT_EQ(topic->committed().at(PartitionId(0)), Watermark(100));
  EXPECT_EQ(server_->count("PutObject", file_of(20)), 3U) << "max_attempts";
  EXPECT_EQ(server_->count("PutObject", file_of(20) + ".lost"), 1U);
  EXPECT_EQ(server_->requests().size(), 9U + 3U + 1U) << "and no other request";
  const auto marker = server_->object("b", file_of(20) + ".lost");
  ASSERT_TRUE(marker);
  EXPECT_THAT(*marker->bytes,
              StartsWith("offset_range: 20-29\nmessage_count: 10\nerror: given up after 3 tries: writing "
                         "s3://b/out/memory/00000-00000000000000000020-00000000000000000029.jsonl: "));
  EXPECT_EQ(std::ranges::count(*marker->bytes, '\n'), 3);
}

TEST_F(SinkOnServer, K16_AMarkerThatCannotBeLeftIsOnlyAWarning) {
  server_->add_fault(fmt::format("op=PutObject key={} times=every status=403 code=AccessDenied", file_of(20)));
  server_->add_fault(fmt::format("op=PutObject key={}.lost times=every status=503 code=SlowDown", file_of(20)));
  const auto topic = topic_of(1, 40);
  const RunReport report = run(dropping(), topic);
  ASSERT_EQ(report.state, ExitState::completed) << why(report);
  EXPECT_EQ(server_->count("PutObject", file_of(20)), 1U) << "forbidden is not tried again";
  EXPECT_EQ(server_->count("PutObject", file_of(20) + ".lost"), 3U) << "the policy of a write";
  EXPECT_EQ(report.writes_dropped, 1U);
  EXPECT_EQ(topic->committed().at(PartitionId(0)), Watermark(40));
}

TEST_F(SinkOnServer, K16_NoMarkerWhereNothingIsGivenUp) {
  server_->add_fault(fmt::format("op=PutObject key={} times=5 status=503 code=SlowDown", file_of(20)));
  ASSERT_EQ(run(options(*server_, "s3://b/out"), topic_of(1, 40)).state, ExitState::completed) << "stall goes on";
  EXPECT_EQ(server_->count("PutObject", file_of(20)), 6U);
  server_->add_fault(fmt::format("op=PutObject key={} times=every status=503 code=SlowDown", file_of(20, "other")));
  S3SinkOptions failing = options(*server_, "s3://b/other");
  failing.on_upload_failure = OnWriteFailure::fail;
  EXPECT_EQ(run(failing, topic_of(1, 40)).state, ExitState::failed);
  EXPECT_THAT(objects(*server_, ".lost"), IsEmpty());
}

// K16: fifty files are refused for good, then the store recovers: each is in a letter with its bytes, the rest where it
// belongs, and the position passes only what is in one of the two. That spilled files give their disk back is shown by
// OpenFilesTest.K16.
TEST_F(SinkOnServer, K16_WhatIsGivenUpGoesToTheDeadLettersAndIntakeGoesOn) {
  server_->add_fault("op=PutObject times=100 status=403 code=AccessDenied");  // fifty files and their markers
  const auto topic = topic_of(1, 600);
  const RunReport report = run_with_letters(dropping(), topic);
  ASSERT_EQ(report.state, ExitState::completed) << why(report);
  EXPECT_EQ(report.records_out, 100U);
  EXPECT_EQ(report.writes_dropped, 50U);
  EXPECT_EQ(report.records_dead_lettered, (Reasons{{"write_dropped", 500}}));
  EXPECT_EQ(report.dead_letters_written, 500U) << "K22";
  EXPECT_THAT(report.records_skipped, IsEmpty());
  EXPECT_EQ(server_->count("PutObject"), 100U + 10U);
  EXPECT_EQ(letters_server_->count("PutObject"), 50U);
  EXPECT_EQ(topic->committed().at(PartitionId(0)), Watermark(600));
  std::map<std::string, int> found;
  for (const auto& [key, bytes] : objects(*server_)) add_lines(bytes, found);
  std::set<std::int64_t> begun;
  for (const auto& [key, bytes] : objects(*letters_server_)) {
    const Json letter = Json::parse(bytes);
    EXPECT_EQ(letter["records"], 10);
    EXPECT_EQ(letter["last_offset"].get<std::int64_t>(), letter["offset"].get<std::int64_t>() + 9);
    EXPECT_EQ(letter["stage"], "write");
    EXPECT_EQ(letter["sink"], "sink");
    EXPECT_EQ(letter["reason"], "permission_denied");
    begun.insert(letter["offset"].get<std::int64_t>());
    add_lines(letter["payload"].get<std::string>(), found);
  }
  EXPECT_EQ(begun.size(), 50U);
  EXPECT_EQ(found, once_each(600)) << "each record in one of the two, once";
}

// M01: the store and the dead letters both refuse: nothing is committed past the first file, and the next run has all.
TEST_F(SinkOnServer, M01_WhereTheDeadLettersFailTooNothingIsCommittedPastIt) {
  server_->add_fault(fmt::format("op=PutObject key={} times=every status=403 code=AccessDenied", file_of(50)));
  letters_server_->add_fault("op=PutObject times=every status=403 code=AccessDenied");
  letters_on_failure_ = OnWriteFailure::fail;
  const auto topic = topic_of(1, 100);
  const RunReport report = run_with_letters(dropping(), topic);
  EXPECT_EQ(report.state, ExitState::failed);
  ASSERT_TRUE(report.error);
  EXPECT_THAT(report.error->describe(), HasSubstr("dead_letter"));
  EXPECT_EQ(topic->committed().at(PartitionId(0)), Watermark(50));
  EXPECT_EQ(report.dead_letters_written, 0U) << "K22";
  letters_server_->clear_faults();
  const RunReport next = run_with_letters(dropping(), topic);
  ASSERT_EQ(next.state, ExitState::completed) << why(next);
  EXPECT_EQ(next.dead_letters_written, 10U);
  EXPECT_EQ(topic->committed().at(PartitionId(0)), Watermark(100));
}

// K18: what is filtered out makes no request at all, and its offsets are committed all the same.
TEST_F(SinkOnServer, K18_FilteredRecordsMakeNoRequest) {
  const auto topic = topic_of(2, 100);
  Pipeline pipeline(quick_run());
  pipeline.sink(S3Sink::make(options(*server_, "s3://b/out"))).chain([](const ChainContext&) {
    return decode::raw() | ops::filter([](std::string_view) { return false; }) | encode::raw();
  });
  const RunReport report = pipeline.run(MemorySource::make(topic));
  ASSERT_EQ(report.state, ExitState::completed) << why(report);
  EXPECT_EQ(report.records_filtered, 200U);
  EXPECT_THAT(server_->requests(), IsEmpty());
  for (const PartitionId p : topic->partitions()) EXPECT_EQ(topic->committed().at(p), Watermark(100));
}

// K22: an answer that was lost, one that says nothing of the object, one that is an error with a good status: what is
// counted as delivered is what lies in the store, no more and no less, and the report and the exit code agree.
TEST_F(SinkOnServer, K22_WhatIsCountedIsWhatTheStoreHolds) {
  server_->add_fault(
      fmt::format("op=PutObject key={} times=1 error_after_success status=500 code=InternalError", file_of(10)));
  server_->add_fault(fmt::format("op=PutObject key={} times=1 no_etag", file_of(30)));
  server_->add_fault(fmt::format("op=PutObject key={} times=1 no_answer", file_of(50)));
  const RunReport report = run(options(*server_, "s3://b/out"), topic_of(1, 100));
  ASSERT_EQ(report.state, ExitState::completed) << why(report);
  std::map<std::string, int> found;
  for (const auto& [key, bytes] : objects(*server_)) add_lines(bytes, found);
  EXPECT_EQ(found, once_each(100));
  EXPECT_EQ(report.records_out, 100U);
  EXPECT_EQ(report.batches_written, 10U);
  EXPECT_EQ(report.exit_code(), 0);
}

// K22: an encoder that throws on one record: the run fails, and what is counted is what lies in the store.
TEST_F(SinkOnServer, K22_AnEncoderThatThrowsIsNoSuccess) {
  const auto topic = topic_of(1, 100);
  Pipeline pipeline(quick_run());
  pipeline.sink(S3Sink::make(options(*server_, "s3://b/out"))).chain([](const ChainContext&) {
    return decode::raw() |
           encode::with([](std::string_view text, const RecordMeta& meta, ByteBuffer& out) -> Result<void> {
             if (meta.offset == Offset(55)) throw std::runtime_error("no words for this one");
             out.append(text);
             out.push_back('\n');
             return {};
           });
  });
  const RunReport report = pipeline.run(MemorySource::make(topic));
  EXPECT_EQ(report.state, ExitState::failed);
  EXPECT_EQ(report.exit_code(), 1);
  ASSERT_TRUE(report.error);
  EXPECT_EQ(report.error->code(), ErrorCode::user_code);
  std::map<std::string, int> found;
  for (const auto& [key, bytes] : objects(*server_)) add_lines(bytes, found);
  EXPECT_EQ(found, once_each(55));
  EXPECT_EQ(report.records_out, 55U);
  EXPECT_EQ(topic->committed().at(PartitionId(0)), Watermark(55));
}

}  // namespace
}  // namespace millrace::testing
