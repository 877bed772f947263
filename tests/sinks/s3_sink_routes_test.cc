// SPDX-License-Identifier: Apache-2.0
// Goal: records are kept apart by their values: every record once, in the file of its value, with a key that tells the
// truth. Method: topics in memory through the whole engine; objects are compared with what was worked out by hand, and
// with a model that deals records to files.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "connectors/s3/sink.h"
#include "millrace/testing/faulty_store.h"
#include "millrace/testing/memory_store.h"
#include "sink_run.h"

namespace millrace::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

struct Routed {
  Routed() {
    options.url = "s3://b/out";
    options.path_template = "{topic}/type={field.type}";
    options.wrap = false;
    options.probe = false;
    options.max_file_age = Duration(0);
    options.retry_delay = std::chrono::milliseconds(1);
  }
  RunReport run(const std::vector<std::string>& payloads, const DecodeOptions& decode = {}) {
    const auto topic = std::make_shared<MemoryTopic>(1);
    for (const std::string& payload : payloads) topic->append(PartitionId(0), payload);
    topic->end();
    auto checked = s3_sink::check(options);
    EXPECT_TRUE(checked) << checked.error().message();
    const std::shared_ptr<ObjectStore> written_to = faulty ? std::shared_ptr<ObjectStore>(faulty) : store;
    auto sink = s3_sink::make_sink(*std::move(checked), [written_to](const StoreUrl&, const StoreOptions&,
                                                                     const StoreContext&) { return written_to; });
    const EncodeSpec spec = sink->encode_spec();
    metrics = std::make_shared<MetricRegistry>();
    Pipeline pipeline(quick_run());
    pipeline.metrics(metrics);
    pipeline.sink(std::move(sink)).chain_factory(make_config_chain(decode, spec));
    RunReport report = pipeline.run(MemorySource::make(topic));
    committed = topic->committed();
    return report;
  }
  /// Without what every key begins with.
  [[nodiscard]] std::map<std::string, std::string> objects() const {
    std::map<std::string, std::string> all;
    for (const auto& [key, body] : store->contents()) all[key.substr(std::string("out/memory/").size())] = body;
    return all;
  }
  S3SinkOptions options;
  std::shared_ptr<MemoryStore> store = std::make_shared<MemoryStore>();
  std::shared_ptr<FaultyStore> faulty;  ///< over `store`; null: nothing fails
  std::shared_ptr<MetricRegistry> metrics;
  std::map<PartitionId, Watermark> committed;
};

std::string name(std::size_t first, std::size_t last) { return fmt::format("/00000-{:020}-{:020}.jsonl", first, last); }

// Byte for byte.
TEST(S3SinkRoutes, L03_EveryValueHasItsFileAndWhatLacksOneTheFallback) {
  Routed routed;
  const RunReport report = routed.run({R"({"type":"a b","n":0})", R"({"type":"x","n":1})", R"({"n":2})",
                                       R"({"type":"x","n":3})", R"({"type":null})", R"({"type":{"x":1}})",
                                       R"({"type":"","n":6})", R"({"type":"a b","n":7})", R"({"type":3.0})"});
  ASSERT_EQ(report.state, ExitState::completed) << why(report);
  EXPECT_THAT(routed.objects(),
              ElementsAre(Pair("type=3.0" + name(8, 8), "{\"type\":3.0}\n"),
                          Pair("type=__HIVE_DEFAULT_PARTITION__" + name(2, 6),
                               "{\"n\":2}\n{\"type\":null}\n{\"type\":{\"x\":1}}\n{\"type\":\"\",\"n\":6}\n"),
                          Pair("type=a_b" + name(0, 7), "{\"type\":\"a b\",\"n\":0}\n{\"type\":\"a b\",\"n\":7}\n"),
                          Pair("type=x" + name(1, 3), "{\"type\":\"x\",\"n\":1}\n{\"type\":\"x\",\"n\":3}\n")));
  const std::string text = routed.metrics->to_prometheus_text();
  EXPECT_THAT(text, HasSubstr("reason=\"missing_field\"} 3"));
  EXPECT_THAT(text, HasSubstr("reason=\"wrong_type\"} 1"));
  EXPECT_EQ(routed.committed.at(PartitionId(0)), Watermark(9));
}

TEST(S3SinkRoutes, L03_OrARecordWithoutItGoesTheWayOfBadOnes) {
  Routed fails;
  fails.options.on_missing_field = RouteSpec::OnMissing::fail;
  const std::vector<std::string> payloads{R"({"type":"x"})", R"({"n":1})", R"({"type":"x","n":2})"};
  const RunReport failed = fails.run(payloads);
  EXPECT_EQ(failed.state, ExitState::failed);
  ASSERT_TRUE(failed.error);
  EXPECT_THAT(failed.error->describe(), HasSubstr("the record names no key: {field.type}"));
  EXPECT_EQ(fails.committed.at(PartitionId(0)), Watermark(1)) << "the record before it is written";
  Routed skips;
  skips.options.on_missing_field = RouteSpec::OnMissing::fail;
  DecodeOptions decode;
  decode.kind = DecodeOptions::Kind::json;
  decode.on_error = OnError::skip;
  const RunReport skipped = skips.run(payloads, decode);
  ASSERT_EQ(skipped.state, ExitState::completed) << why(skipped);
  EXPECT_THAT(skips.objects(),
              ElementsAre(Pair("type=x" + name(0, 2), "{\"type\":\"x\"}\n{\"type\":\"x\",\"n\":2}\n")));
  EXPECT_THAT(skipped.records_skipped, ElementsAre(Pair("missing_field", 1U)));
}

// A thousand records of two values that take turns make two files, not a thousand; with room for one file only there
// are as many as there are turns, and every record is there.
TEST(S3SinkRoutes, K07_ValuesThatInterleaveShareTheOpenFiles) {
  std::vector<std::string> payloads;
  for (int i = 0; i < 1000; ++i)
    payloads.push_back(fmt::format(R"({{"type":"{}","n":{}}})", i % 2 == 0 ? "a" : "b", i));
  Routed two;
  ASSERT_EQ(two.run(payloads).state, ExitState::completed);
  std::vector<std::string> keys;
  for (const auto& [key, body] : two.objects()) keys.push_back(key);
  EXPECT_THAT(keys, ElementsAre("type=a" + name(0, 998), "type=b" + name(1, 999)));
  Routed one;
  one.options.max_open_files = 1;
  ASSERT_EQ(one.run(payloads).state, ExitState::completed);
  EXPECT_EQ(one.objects().size(), 1000U);
}

// {uuid} is the same over retries: one object, whatever the first tries met. Two runs never meet.
TEST(S3SinkRoutes, K12_UuidsTellTheFilesOfTwoRunsApart) {
  Routed routed;
  routed.options.path_template = "{uuid}";
  const std::vector<std::string> payloads{R"({"n":0})", R"({"n":1})"};
  routed.options.file_rotation = FileRotation::messages;
  routed.options.max_messages_per_file = 1;
  routed.faulty = std::make_shared<FaultyStore>(routed.store);
  routed.faulty->add(
      {.op = StoreOp::put, .times = 2, .error = Error::retryable(ErrorCode::unavailable, "503"), .done_anyway = true});
  ASSERT_EQ(routed.run(payloads).state, ExitState::completed);
  EXPECT_EQ(routed.faulty->hits(), 2U);
  EXPECT_EQ(routed.store->contents().size(), 2U) << "a try whose answer was lost has written what the next one finds";
  ASSERT_EQ(routed.run(payloads).state, ExitState::completed);
  std::set<std::string> uuids;
  for (const auto& [key, body] : routed.store->contents()) {
    const std::string uuid = key.substr(4, 36);
    EXPECT_EQ(uuid[14], '4') << uuid;
    EXPECT_THAT(std::string("89ab"), HasSubstr(uuid.substr(19, 1))) << uuid;
    EXPECT_EQ(std::ranges::count(uuid, '-'), 4);
    uuids.insert(uuid);
  }
  EXPECT_EQ(uuids.size(), 4U);
}

// One payload may become several records of several values: all of them under its offset, in files of their own.
TEST(S3SinkRoutes, RecordsOfOnePayloadGoToTheirFiles) {
  Routed routed;
  DecodeOptions decode;
  decode.kind = DecodeOptions::Kind::json;
  decode.framing = decode::JsonFraming::array;
  const RunReport report =
      routed.run({R"([{"type":"a","n":0},{"type":"b","n":1},{"type":"a","n":2}])", R"([{"type":"b","n":3}])"}, decode);
  ASSERT_EQ(report.state, ExitState::completed) << why(report);
  EXPECT_THAT(routed.objects(),
              ElementsAre(Pair("type=a" + name(0, 0), "{\"type\":\"a\",\"n\":0}\n{\"type\":\"a\",\"n\":2}\n"),
                          Pair("type=b" + name(0, 1), "{\"type\":\"b\",\"n\":1}\n{\"type\":\"b\",\"n\":3}\n")));
}

// compat: iggy by size, whole objects: `{"n":0}` is seven bytes, so three of them are the first to make twenty.
TEST(S3SinkRoutes, CompatIggyCountsRecordsAlone) {
  Routed seed;
  seed.options.path_template = "{topic}";
  seed.options.compat = Compat::iggy;
  seed.options.max_file_size = ByteSize{20};
  seed.options.max_file_age.reset();
  std::vector<std::string> payloads;
  for (int i = 0; i < 7; ++i) payloads.push_back(fmt::format(R"({{"n":{}}})", i));
  ASSERT_EQ(seed.run(payloads).state, ExitState::completed);
  EXPECT_THAT(seed.objects(), ElementsAre(Pair(name(0, 2).substr(1), "{\"n\":0}\n{\"n\":1}\n{\"n\":2}\n"),
                                          Pair(name(3, 5).substr(1), "{\"n\":3}\n{\"n\":4}\n{\"n\":5}\n"),
                                          Pair(name(6, 6).substr(1), "{\"n\":6}\n")));
  seed.store = std::make_shared<MemoryStore>();
  seed.options.output_format = OutputFormat::raw;
  ASSERT_EQ(seed.run({"ab", "c", ""}).state, ExitState::completed);
  EXPECT_THAT(seed.objects(), ElementsAre(Pair("00000-00000000000000000000-00000000000000000002.bin", "abc")));
}

// Any values in any order, any bound of open files: each record once, in a file of its value and in order, and the key
// tells the first and the last of them.
RC_GTEST_PROP(S3SinkRoutesProperty, L03_EveryRecordOnceInAFileOfItsValue, ()) {
  Routed routed;
  routed.options.name_encoding = NameEncoding::percent;
  routed.options.max_open_files = *rc::gen::inRange<std::uint64_t>(1, 5);
  routed.options.file_rotation = FileRotation::messages;
  routed.options.max_messages_per_file = *rc::gen::inRange<std::uint64_t>(1, 20);
  const auto types = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 6));
  std::vector<std::string> payloads;
  for (std::size_t i = 0; i < types.size(); ++i)
    payloads.push_back(fmt::format(R"({{"type":{},"n":{}}})", types[i], i));
  const RunReport report = routed.run(payloads);
  RC_ASSERT(report.state == ExitState::completed);
  std::set<std::size_t> seen;
  for (const auto& [key, body] : routed.objects()) {
    const int type = std::stoi(key.substr(5, 1));
    std::vector<std::size_t> offsets;
    for (std::size_t begin = 0; begin < body.size();) {
      const std::size_t end = body.find('\n', begin);
      const auto record = nlohmann::json::parse(body.substr(begin, end - begin));
      RC_ASSERT(record["type"] == type);
      offsets.push_back(record["n"]);
      RC_ASSERT(seen.insert(offsets.back()).second);
      begin = end + 1;
    }
    RC_ASSERT(std::ranges::is_sorted(offsets));
    RC_ASSERT(offsets.size() <= routed.options.max_messages_per_file);
    RC_ASSERT(key == fmt::format("type={}", type) + name(offsets.front(), offsets.back()));
  }
  RC_ASSERT(seen.size() == types.size());
}

}  // namespace
}  // namespace millrace::testing
