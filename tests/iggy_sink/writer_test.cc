// SPDX-License-Identifier: Apache-2.0
// Goal: a batch is acknowledged when the server has said of each of its messages that it took it, and by nothing else;
// a retry sends what was not acknowledged, under the same ids. Method: one writer, and a server with scripted faults.
#include <gmock/gmock.h>

#include <map>

#include "millrace/iggy_client/client.h"
#include "tests/iggy_sink/sink_fixture.h"

namespace millrace::iggy_sink {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class IggyWriter : public ::testing::TestWithParam<const char*> {
 protected:
  IggyWriter() : server(GetParam()) { server.create(4); }
  void fault(json script) { server.control({{"fault", std::move(script)}}); }
  [[nodiscard]] IggySinkOptions options() const {
    IggySinkOptions all = options_for(server);
    all.partitioning = {IggyPartitioning::Kind::partition, 0};
    return all;
  }
  iggy_rig::FakeServer server;
};

TEST_P(IggyWriter, WhatIsWrittenIsThere) {
  IggySinkOptions with = options();
  with.key_header = "key";
  const Writing writing(with);
  SealedBatch batch = batch_of({{"one", "k", {{"a", "b"}}}, {"two", {}, {}, -1, 9'000'000}});
  const auto written = writing.write(batch);
  ASSERT_TRUE(written) << written.error().message();
  EXPECT_EQ(written->bytes_written, 3U + 1 + 2 + 3);
  EXPECT_EQ(written->location, "iggy topic 's/t'");
  const json all = messages_of(server);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0]["payload"], "one");
  EXPECT_EQ(all[0]["origin"], 1'000'000);
  EXPECT_EQ(all[1]["origin"], 9'000'000);
  // Kind string, length, name; kind string, length, value: by hand.
  EXPECT_EQ(all[0]["headers_hex"],
            "020100000061020100000062"
            "02030000006b6579020100000"
            "06b");
  EXPECT_EQ(all[1]["headers_hex"], "");
  EXPECT_NE(all[0]["id"], all[1]["id"]);
  EXPECT_NE(all[0]["id"], "0");
}

TEST_P(IggyWriter, INV1_K22_NothingIsAcknowledgedWithoutASuccess) {
  const bool vsr = std::string(GetParam()) == "vsr";
  std::vector<json> faults{
      {{"do", "silence"}},
      {{"do", "silence"}, {"apply", true}},
      {{"do", "drop"}},
      {{"do", "drop"}, {"reset", true}},
      {{"do", "drop"}, {"apply", true}},
      {{"do", "drop"}, {"after_bytes", 5}},
      {{"do", "status"}, {"code", 20}},
      {{"do", "status"}, {"code", 40}},
      {{"do", "status"}, {"code", 58}, {"times", 0}},
  };
  if (vsr) {
    faults.push_back({{"do", "evict"}, {"reason", 13}});
    faults.push_back({{"do", "evict"}, {"reason", 13}, {"apply", true}});
    faults.push_back({{"do", "request_id"}, {"value", 1}});
    faults.push_back({{"do", "command"}, {"value", 99}});
  }
  std::size_t before = 0;
  std::uint64_t sequence = 0;
  for (json& script : faults) {
    SCOPED_TRACE(script.dump());
    IggySinkOptions quick = options();
    quick.request_timeout = std::chrono::milliseconds(400);
    const Writing writing(quick);
    SealedBatch batch = batch_of(numbered(3), ++sequence);
    script["on"] = "send";
    fault(script);
    const auto failed = writing.write(batch);
    EXPECT_FALSE(failed);
    if (!failed) {
      EXPECT_TRUE(failed.error().is_retryable()) << failed.error().describe();
    }
    server.control({{"clear_faults", true}});
    const auto written = writing.write(batch);
    ASSERT_TRUE(written) << written.error().message();
    // All are there, and what is there twice has one id.
    std::map<std::string, std::string> ids;
    const json all = messages_of(server);
    std::size_t count = 0;
    for (std::size_t i = before; i < all.size(); ++i, ++count) {
      const auto [at, fresh] = ids.emplace(all[i]["payload"], all[i]["id"]);
      EXPECT_EQ(at->second, all[i]["id"].get<std::string>());
    }
    EXPECT_EQ(ids.size(), 3U);
    EXPECT_LE(count, 6U);
    before = all.size();
  }
}

TEST_P(IggyWriter, INV1_AChunkThatIsReadInPartIsNotAcknowledged) {
  const Writing writing(options());
  SealedBatch batch = batch_of(numbered(2));
  batch.chunk.bytes.append("no record");
  for (int tries = 0; tries < 2; ++tries) {
    const auto refused = writing.write(batch);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().error_class(), ErrorClass::fatal);
  }
  EXPECT_TRUE(payloads_of(server).empty());
  // One letter of a batch that another sink gave up is one message, and stands for many records.
  SealedBatch letter = batch_of(numbered(1), 1);
  letter.chunk.records = 40;
  letter.named_by_content = true;
  EXPECT_TRUE(writing.write(letter));
  EXPECT_EQ(payloads_of(server).size(), 1U);
}

TEST_P(IggyWriter, ARetryGoesOnBehindWhatWasAcknowledged) {
  IggySinkOptions two = options();
  two.batch_records = 2;
  const Writing writing(two);
  SealedBatch batch = batch_of(numbered(6));
  fault({{"on", "send"}, {"nth", 2}, {"do", "drop"}, {"apply", true}});
  EXPECT_FALSE(writing.write(batch));
  EXPECT_TRUE(writing.write(batch));
  EXPECT_THAT(payloads_of(server), ElementsAre("0", "1", "2", "3", "2", "3", "4", "5"));
  // Another batch begins anew.
  SealedBatch next = batch_of(numbered(1), 1);
  EXPECT_TRUE(writing.write(next));
  EXPECT_EQ(payloads_of(server).size(), 9U);
}

TEST_P(IggyWriter, WhatNobodyCanMendEndsTheTries) {
  const std::map<int, std::string> codes{
      {41, "grant the right"}, {4022, "max_record_bytes"}, {4023, "4023"}, {4242, "4242"}};
  for (const auto& [code, text] : codes) {
    const Writing writing(options());
    SealedBatch batch = batch_of(numbered(1));
    fault({{"on", "send"}, {"do", "status"}, {"code", code}});
    const auto refused = writing.write(batch);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().error_class(), ErrorClass::fatal) << code;
    EXPECT_THAT(refused.error().message(), HasSubstr(text));
    EXPECT_THAT(refused.error().message(), HasSubstr("'s/t'"));
  }
}

// The server hashes keys by itself: its answer is compared with.
TEST_P(IggyWriter, KeysGoWhereTheServerWouldSendThem) {
  iggy::ClientOptions plain;
  plain.address = server.address();
  plain.credentials = {"iggy", "iggy", {}, {}};
  const auto client = *iggy::Client::make(plain);
  server.control({{"create", {{"stream", "s"}, {"topic", "other"}, {"partitions", 4}}}});
  IggySinkOptions by_key = options();
  by_key.partitioning.kind = IggyPartitioning::Kind::key;
  const Writing writing(by_key);
  std::vector<TestRecord> records;
  for (int i = 0; i < 30; ++i) {
    const std::string key = "key " + std::to_string(i);
    records.push_back({std::to_string(i), key});
    const std::string payload = std::to_string(i);
    const iggy::OutgoingMessage message{payload, {}, {}, 0};
    ASSERT_TRUE(client->send({iggy::Identifier::name("s"), iggy::Identifier::name("other")},
                             iggy::Partitioning::by(key), {&message, 1}));
  }
  SealedBatch batch = batch_of(records);
  ASSERT_TRUE(writing.write(batch));
  std::size_t used = 0;
  for (std::uint32_t partition = 0; partition < 4; ++partition) {
    EXPECT_EQ(payloads_of(server, partition), payloads_of(server, partition, "other"));
    used += payloads_of(server, partition).empty() ? 0 : 1;
  }
  EXPECT_GT(used, 1U);
}

// A topic that is made anew with fewer partitions while keys are counted on the old ones.
TEST_P(IggyWriter, KeysFollowATopicThatIsMadeAnew) {
  IggySinkOptions by_key = options();
  by_key.partitioning.kind = IggyPartitioning::Kind::key;
  const Writing writing(by_key);
  std::vector<TestRecord> records;
  for (int i = 0; i < 20; ++i) records.push_back({std::to_string(i), "key " + std::to_string(i)});
  SealedBatch batch = batch_of(records);
  ASSERT_TRUE(writing.write(batch));
  server.control({{"delete", {{"stream", "s"}, {"topic", "t"}}}});
  SealedBatch next = batch_of(records, 1);
  for (int tries = 0; tries < 2; ++tries) {
    const auto refused = writing.write(next);
    ASSERT_FALSE(refused);
    EXPECT_TRUE(refused.error().is_retryable());
    EXPECT_THAT(refused.error().message(), HasSubstr("'s/t'"));
  }
  server.create(2);
  ASSERT_TRUE(writing.write(next));
  EXPECT_EQ(payloads_of(server, 0).size() + payloads_of(server, 1).size(), records.size());
}

TEST_P(IggyWriter, ARecordMayBeEmpty) {
  const Writing writing(options());
  SealedBatch batch = batch_of({{""}, {"behind it"}});
  ASSERT_TRUE(writing.write(batch));
  EXPECT_THAT(payloads_of(server), ElementsAre("", "behind it"));
}

TEST_P(IggyWriter, AServerThatComesBackIsGoneOnWith) {
  const Writing writing(options());
  SealedBatch batch = batch_of(numbered(2));
  ASSERT_TRUE(writing.write(batch));
  server.control({{"restart", "term"}});
  SealedBatch next = batch_of(numbered(2), 1);
  Result<Receipt> written = writing.write(next);
  if (!written) {
    EXPECT_TRUE(written.error().is_retryable());
    written = writing.write(next);
  }
  EXPECT_TRUE(written);
  EXPECT_THAT(payloads_of(server), ElementsAre("0", "1", "0", "1"));
}

TEST_P(IggyWriter, M06_CancelEndsAWaitForASilentServer) {
  const Writing writing(options());
  SealedBatch batch = batch_of(numbered(1));
  fault({{"on", "send"}, {"do", "silence"}, {"times", 0}});
  Result<Receipt> written = Receipt{};
  Thread thread("writer", [&] { written = writing.write(batch); });
  wait_for_request(server, "send");
  writing.writer->cancel();
  thread.join();
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code(), ErrorCode::cancelled);
}

INSTANTIATE_TEST_SUITE_P(Framings, IggyWriter, ::testing::Values("classic", "vsr"),
                         [](const auto& framing) { return std::string(framing.param); });

}  // namespace
}  // namespace millrace::iggy_sink
