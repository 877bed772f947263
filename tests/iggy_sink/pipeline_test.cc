// SPDX-License-Identifier: Apache-2.0
// Goal: what a run says is written is in the topic, as it was and in its order, whatever happens to the server
// meanwhile. Method: whole pipelines, from memory and from a topic, into a fake server; what the source reads of both
// topics is compared.
#include <gmock/gmock.h>

#include <set>

#include "tests/engine/engine_fixture.h"
#include "tests/iggy_sink/sink_fixture.h"

namespace millrace::iggy_sink {
namespace {

using nlohmann::json;

class IggySinkRuns : public ::testing::TestWithParam<const char*> {
 protected:
  IggySinkRuns() : server(GetParam(), {"--flush-messages", "1"}) { server.create(3); }
  static RunReport run(const IggySinkOptions& options, Result<std::unique_ptr<Source>> source) {
    Pipeline pipeline(testing::quick());
    pipeline.sink(IggySink::make(options)).chain_factory(make_config_chain({}, spec_of(options)));
    return pipeline.run(std::move(source));
  }
  static EncodeSpec spec_of(const IggySinkOptions& options) { return (*IggySink::make(options))->encode_spec(); }
  [[nodiscard]] IggySourceOptions reads(const std::string& topic) const {
    IggySourceOptions options;
    options.address = server.address();
    options.username = "iggy";
    options.password = Secret("iggy");
    options.stream = "s";
    options.topics = {topic};
    options.consumer = "7";
    options.bounded = true;
    options.heartbeat = std::chrono::milliseconds(50);
    return options;
  }
  /// Payload and headers of each message, as the source reads them.
  [[nodiscard]] std::vector<std::string> as_read(const std::string& topic) const {
    auto capture = std::make_shared<testing::Capture>();
    EncodeSpec spec;
    spec.format = EncodeFormat::json_lines;
    spec.wrap = true;
    spec.include_metadata = false;
    spec.include_headers = true;
    Pipeline pipeline(testing::quick());
    pipeline.sink(testing::CaptureSink::make(capture, testing::small_chunks()))
        .chain_factory(make_config_chain({}, spec));
    const RunReport report = pipeline.run(IggySource::make(reads(topic)));
    EXPECT_EQ(report.exit_code(), 0) << topic;
    return testing::sorted(capture->lines());
  }
  std::vector<std::string> written(std::uint32_t partitions) {
    std::vector<std::string> all;
    for (std::uint32_t p = 0; p < partitions; ++p) {
      const auto some = payloads_of(server, p);
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }
  iggy_rig::FakeServer server;
};

TEST_P(IggySinkRuns, ATopicBecomesATopic) {
  server.control({{"create", {{"stream", "s"}, {"topic", "copy"}, {"partitions", 2}}}});
  // string a=b; uint32 n=7; bool yes=1; raw bytes; no header; and bytes that are no headers.
  const std::vector<std::string> headers{"020100000061020100000062",
                                         "02010000006e0b0400000007000000",
                                         "02030000007965730301000000"
                                         "01",
                                         "0201000000720102000000fffe",
                                         "",
                                         "deadbeef"};
  json messages = json::array();
  for (int i = 0; i < 60; ++i) {
    messages.push_back({{"payload", "{\"n\":" + std::to_string(i) + "}"},
                        {"headers_hex", headers[static_cast<std::size_t>(i) % headers.size()]}});
  }
  for (int partition = 0; partition < 3; ++partition) {
    server.control({{"append", {{"stream", "s"}, {"topic", "t"}, {"partition", partition}, {"messages", messages}}}});
  }
  IggySinkOptions options = options_for(server);
  options.topic = "copy";
  const RunReport report = run(options, IggySource::make(reads("t")));
  ASSERT_EQ(report.exit_code(), 0);
  EXPECT_EQ(as_read("copy").size(), 180U);
  EXPECT_EQ(as_read("copy"), as_read("t"));
}

TEST_P(IggySinkRuns, PartitionsOfTheSourceKeepTheirOrder) {
  IggySinkOptions options = options_for(server);
  options.partitioning = {IggyPartitioning::Kind::partition, 1};
  options.batch_records = 7;
  ASSERT_EQ(run(options, testing::MemorySource::make(testing::filled_and_ended(4, 200))).exit_code(), 0);
  const auto all = payloads_of(server, 1);
  EXPECT_EQ(testing::sorted(all), testing::everything(4, 200));
  for (std::uint32_t p = 0; p < 4; ++p) {
    std::vector<std::string> expected;
    for (std::size_t i = 0; i < 200; ++i) expected.push_back(testing::payload_of(p, i));
    std::vector<std::string> found;
    std::ranges::copy_if(all, std::back_inserter(found),
                         [&](const std::string& one) { return one.starts_with("p" + std::to_string(p) + "-"); });
    EXPECT_EQ(found, expected);
  }
}

// Requests are lost before and behind their answer, and the server is killed in between: every record is there, and
// what is there twice has one id.
TEST_P(IggySinkRuns, INV1_M01_NoRecordIsMissingBehindFaults) {
  IggySinkOptions options = options_for(server);
  options.batch_records = 10;
  options.request_timeout = std::chrono::milliseconds(500);
  server.control({{"fault", {{"on", "send"}, {"nth", 5}, {"do", "drop"}, {"apply", true}}}});
  server.control({{"fault", {{"on", "send"}, {"nth", 12}, {"do", "drop"}}}});
  server.control({{"fault", {{"on", "send"}, {"nth", 20}, {"do", "silence"}, {"apply", true}}}});
  auto topic = testing::filled(3, 300);
  Pipeline pipeline(testing::quick());
  pipeline.sink(IggySink::make(options)).chain_factory(make_config_chain({}, spec_of(options)));
  testing::BackgroundRun background(pipeline, testing::MemorySource::make(topic));
  EXPECT_TRUE(testing::eventually([&] { return !written(3).empty(); }));
  server.control({{"restart", "kill"}});
  topic->end();
  EXPECT_EQ(background.join().exit_code(), 0);
  std::map<std::string, std::string> ids;
  for (std::uint32_t p = 0; p < 3; ++p) {
    for (const auto& message : messages_of(server, p)) {
      const auto [at, fresh] = ids.emplace(message["payload"], message["id"]);
      EXPECT_EQ(at->second, message["id"].get<std::string>());
    }
  }
  std::vector<std::string> distinct;
  for (const auto& [payload, id] : ids) distinct.push_back(payload);
  EXPECT_EQ(distinct, testing::everything(3, 300));
}

TEST_P(IggySinkRuns, K17_ARefusalEndsTheRunAndNothingBehindItIsCommitted) {
  IggySinkOptions options = options_for(server);
  options.on_write_failure = OnWriteFailure::fail;
  options.max_attempts = 1;
  server.control({{"fault", {{"on", "send"}, {"do", "status"}, {"code", 41}, {"times", 0}}}});
  auto topic = testing::filled_and_ended(1, 50);
  const RunReport report = run(options, testing::MemorySource::make(topic));
  EXPECT_EQ(report.exit_code(), 1);
  EXPECT_THAT(topic->committed(), ::testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Framings, IggySinkRuns, ::testing::Values("classic", "vsr"),
                         [](const auto& framing) { return std::string(framing.param); });

}  // namespace
}  // namespace millrace::iggy_sink
