// SPDX-License-Identifier: Apache-2.0
// examples/http_poll_source against an API with faults: what it reads, where it goes on, what it tries again, what ends
// it, and every rule of a source.
#include "http_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "feed_api.h"
#include "feed_client.h"
#include "millrace/decode/raw.h"
#include "millrace/encode/encode.h"
#include "millrace/pipeline/pipeline.h"
#include "millrace/testing/capture_sink.h"
#include "millrace/testing/conformance_tests.h"
#include "millrace/testing/source_conformance.h"

namespace millrace::tutorial {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAreArray;

// A folder of a test, gone with it.
class Scratch {
 public:
  Scratch() {
    std::string pattern = std::filesystem::temp_directory_path() / "millrace-feed-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  ~Scratch() { std::filesystem::remove_all(folder_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] std::string positions() const { return folder_ / "positions.txt"; }
  [[nodiscard]] std::string read() const {
    std::ostringstream text;
    text << std::ifstream(positions()).rdbuf();
    return text.str();
  }
  void write(const std::string& text) const { std::ofstream(positions()) << text; }

 private:
  std::filesystem::path folder_;
};

HttpSourceOptions options_for(const FeedApi& api, const Scratch& scratch,
                              std::vector<std::string> feeds = {"/orders"}) {
  HttpSourceOptions options;
  options.url = api.url();
  options.feeds = std::move(feeds);
  options.positions = scratch.positions();
  options.page_size = 4;
  options.poll_interval = std::chrono::milliseconds(1);
  options.backoff = {std::chrono::milliseconds(1), std::chrono::milliseconds(2), 2.0};
  return options;
}

struct Ran {
  RunReport report;
  std::vector<std::string> lines;
};

Ran run(const HttpSourceOptions& options) {
  const auto capture = std::make_shared<testing::Capture>();
  Pipeline pipeline({.name = "feeds", .checkpoint_interval = std::chrono::milliseconds(100)});
  Ran ran;
  ran.report = pipeline.sink(testing::CaptureSink::make(capture))
                   .chain([](const ChainContext&) { return decode::text() | encode::raw(); })
                   .run(HttpSource::make(options));
  ran.lines = capture->lines();
  return ran;
}

std::vector<std::string> records(int from, int to) {
  std::vector<std::string> all;
  for (int n = from; n < to; ++n) all.push_back(feed_record(2 * n));
  return all;
}

TEST(HttpSource, ReadsPageByPageAndGoesOnWhereItWas) {
  FeedApi api({{"/orders", 10}});
  const Scratch scratch;
  const Ran first = run(options_for(api, scratch));
  EXPECT_EQ(first.report.state, ExitState::completed);
  EXPECT_THAT(first.lines, ElementsAreArray(records(0, 10)));
  EXPECT_THAT(api.asked(), ElementsAre("/orders?from=0&limit=4", "/orders?from=7&limit=4", "/orders?from=15&limit=4"));
  EXPECT_EQ(scratch.read(), "19 /orders\n") << "one past the last, at 18";
  EXPECT_EQ(first.report.committed_summary, "/orders up to 19");

  for (int i = 0; i < 3; ++i) api.add("/orders");
  const Ran second = run(options_for(api, scratch));
  EXPECT_THAT(second.lines, ElementsAreArray(records(10, 13)));
  EXPECT_EQ(scratch.read(), "25 /orders\n");
}

TEST(HttpSource, EachFeedIsAPartitionWithAPositionOfItsOwn) {
  FeedApi api({{"/orders", 9}, {"/customers", 3}, {"/none", 0}});
  const Scratch scratch;
  scratch.write("8 /orders\n77 /of_another_pipeline\n");
  const Ran ran = run(options_for(api, scratch, {"/orders", "/customers", "/none"}));
  EXPECT_EQ(ran.report.state, ExitState::completed);
  auto expected = records(4, 9);
  for (std::string& record : records(0, 3)) expected.push_back(record);
  EXPECT_THAT(ran.lines, UnorderedElementsAreArray(expected));
  EXPECT_EQ(scratch.read(), "5 /customers\n77 /of_another_pipeline\n17 /orders\n");
}

TEST(HttpSource, WhatMayPassIsTriedAgainInTheLane) {
  FeedApi api({{"/orders", 10}});
  const Scratch scratch;
  api.next_answers({status(503), status(429, "0"), {}, breaks_off(), status(500), breaks_off(), {}, status(408)});
  const Ran ran = run(options_for(api, scratch));
  EXPECT_EQ(ran.report.state, ExitState::completed);
  EXPECT_THAT(ran.lines, ElementsAreArray(records(0, 10)));
  EXPECT_THAT(api.asked(), ElementsAre("/orders?from=0&limit=4", "/orders?from=0&limit=4", "/orders?from=0&limit=4",
                                       "/orders?from=7&limit=4", "/orders?from=7&limit=4", "/orders?from=7&limit=4",
                                       "/orders?from=7&limit=4", "/orders?from=15&limit=4", "/orders?from=15&limit=4"));
}

struct Fatal {
  std::string name;
  FeedApi::Fault fault;
  ErrorCode code;
  std::string words;
};
class HttpSourceEnds : public ::testing::TestWithParam<Fatal> {};

TEST_P(HttpSourceEnds, WithWhatItWas) {
  FeedApi api({{"/orders", 10}});
  const Scratch scratch;
  scratch.write("4 /orders\n");
  api.next_answers({{}, GetParam().fault});
  auto options = options_for(api, scratch);
  options.token = "s3cr3t";
  const Ran ran = run(options);
  EXPECT_EQ(ran.report.state, ExitState::failed);
  ASSERT_TRUE(ran.report.error);
  EXPECT_EQ(ran.report.error->code(), GetParam().code);
  EXPECT_THAT(ran.report.error->describe(),
              AllOf(HasSubstr(api.url() + "/orders: "), HasSubstr(GetParam().words), Not(HasSubstr("s3cr3t"))));
  EXPECT_THAT(api.tokens(), ElementsAre("Bearer s3cr3t", "Bearer s3cr3t"));
  // What came before it is written, and committed.
  EXPECT_THAT(ran.lines, ElementsAreArray(records(2, 6)));
  EXPECT_EQ(scratch.read(), "11 /orders\n");
}

INSTANTIATE_TEST_SUITE_P(
    All, HttpSourceEnds,
    ::testing::Values(
        Fatal{"NotKnown", status(401), ErrorCode::credentials, "answers 401: give a token that it takes"},
        Fatal{"NotAllowed", status(403), ErrorCode::permission_denied, "answers 403: the token may not"},
        Fatal{"Gone", status(404), ErrorCode::not_found, "answers 404: there is no such feed"},
        Fatal{"Elsewhere", status(302), ErrorCode::bad_response, "answers 302, which is no page"},
        Fatal{"NoJson", body("<html>"), ErrorCode::malformed, "the answer is no page: "},
        Fatal{"HalfAPage", body(R"({"items": [{"offset": 11, "rec)"), ErrorCode::malformed, "the answer is no page: "},
        Fatal{"NoNext", body(R"({"items": [], "more": false})"), ErrorCode::missing_field, "next"},
        Fatal{"Backwards", body(R"({"items": [{"offset": 10, "record": 1}], "next": 12, "more": true})"),
              ErrorCode::bad_response, "has offset 10 where at least 11 is due"},
        Fatal{
            "Twice",
            body(R"({"items": [{"offset": 12, "record": 1}, {"offset": 12, "record": 1}], "next": 13, "more": true})"),
            ErrorCode::bad_response, "has offset 12 where at least 13 is due"},
        Fatal{"BeyondItsEnd", body(R"({"items": [{"offset": 12, "record": 1}], "next": 12, "more": true})"),
              ErrorCode::bad_response, "the page that ends at 12 has offset 12"},
        Fatal{"NextBackwards", body(R"({"items": [], "next": 3, "more": true})"), ErrorCode::bad_response,
              "the next one begins at 3, which lies before it"}),
    [](const auto& one) { return one.param.name; });

TEST(HttpSource, AnApiThatAsksForTimeIsGivenIt) {
  FeedApi api({{"/orders", 1}});
  FeedClient client({.url = api.url(), .feed = "/orders"});
  api.next_answers({status(429, "7"), status(503, "Wed, 21 Oct 2015 07:28:00 GMT")});
  auto throttled = client.get(Offset(0));
  ASSERT_FALSE(throttled);
  EXPECT_EQ(throttled.error().code(), ErrorCode::throttled);
  EXPECT_EQ(throttled.error().retry_after(), std::chrono::seconds(7));
  auto dated = client.get(Offset(0));
  ASSERT_FALSE(dated);
  EXPECT_EQ(dated.error().code(), ErrorCode::unavailable);
  EXPECT_EQ(dated.error().retry_after(), std::nullopt);
  EXPECT_TRUE(client.get(Offset(0)));
}

TEST(HttpSource, NobodyThereMayPass) {
  std::string url;
  {
    const FeedApi gone({});
    url = gone.url();
  }
  FeedClient client({.url = url, .feed = "/orders"});
  auto answer = client.get(Offset(0));
  ASSERT_FALSE(answer);
  EXPECT_TRUE(answer.error().is_retryable());
  EXPECT_THAT(answer.error().message(), HasSubstr(url + "/orders: no answer"));
}

TEST(HttpSource, FollowsUntilItIsStopped) {
  FeedApi api({{"/orders", 3}});
  const Scratch scratch;
  auto options = options_for(api, scratch);
  options.follow = true;
  const auto capture = std::make_shared<testing::Capture>();
  testing::CaptureSinkOptions sink;
  sink.policy.max_records = 1;
  Pipeline pipeline({.name = "feeds"});
  RunReport report;
  {
    const Thread running("run", [&] {
      report = pipeline.sink(testing::CaptureSink::make(capture, sink))
                   .chain([](const ChainContext&) { return decode::text() | encode::raw(); })
                   .run(HttpSource::make(options));
    });
    EXPECT_TRUE(capture->wait_for_batches(3));
    api.next_answers({status(503)});
    api.add("/orders");
    EXPECT_TRUE(capture->wait_for_batches(4));
    pipeline.stop_handle().request();
  }
  EXPECT_EQ(report.state, ExitState::stopped);
  EXPECT_EQ(report.exit_code(), 0);
  EXPECT_THAT(capture->lines(), ElementsAreArray(records(0, 4)));
  EXPECT_EQ(scratch.read(), "7 /orders\n");
}

TEST(HttpSource, AStopDoesNotWaitForAnApiThatIsSilent) {
  FeedApi api({{"/orders", 3}});
  const Scratch scratch;
  auto options = options_for(api, scratch);
  options.timeout = std::chrono::hours(1);  // whoever waits for it meets the timeout of this test
  api.all_answers(api.silence());
  Pipeline pipeline({.name = "feeds"});
  RunReport report;
  {
    const Thread running("run", [&] {
      report = pipeline.sink(testing::CaptureSink::make(std::make_shared<testing::Capture>()))
                   .chain([](const ChainContext&) { return decode::text() | encode::raw(); })
                   .run(HttpSource::make(options));
    });
    EXPECT_TRUE(api.wait_for_requests(1));
    pipeline.stop_handle().request();
  }
  EXPECT_EQ(report.state, ExitState::stopped);
}

TEST(HttpSource, PositionsThatCannotBeReadOrKeptEndTheRunAtTheStart) {
  FeedApi api({{"/orders", 3}});
  const Scratch scratch;
  for (const char* text : {"x /orders\n", "-1 /orders\n", "5\n", "1 /customers\n5 /orders 6\n", "\n"}) {
    scratch.write(text);
    const Ran ran = run(options_for(api, scratch));
    ASSERT_TRUE(ran.report.error) << text;
    EXPECT_THAT(ran.report.error->message(),
                AllOf(HasSubstr(scratch.positions() + ", line "), HasSubstr("remove the file")));
    EXPECT_EQ(scratch.read(), text) << "what nobody understands is left as it is";
  }
  auto options = options_for(api, scratch);
  options.positions = scratch.positions() + "/no_folder";
  const Ran ran = run(options);
  ASSERT_TRUE(ran.report.error);
  EXPECT_THAT(ran.report.error->message(), HasSubstr(options.positions));
  EXPECT_THAT(api.asked(), ElementsAre());
}

TEST(HttpSource, ACommitThatCannotBeKeptIsToldAndCanBeMadeAgain) {
  FeedApi api({{"/orders", 3}});
  const Scratch scratch;
  auto source = HttpSource::make(options_for(api, scratch));
  ASSERT_TRUE(source);
  ASSERT_TRUE((*source)->open({}));
  const PartitionWatermark at{PartitionId(0), Watermark(3)};
  std::filesystem::create_directory(scratch.positions() + ".new");
  auto refused = (*source)->commit(std::span(&at, 1));
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().is_retryable());
  EXPECT_EQ(scratch.read(), "");
  std::filesystem::remove(scratch.positions() + ".new");
  ASSERT_TRUE((*source)->commit(std::span(&at, 1)));
  EXPECT_EQ(scratch.read(), "3 /orders\n");
}

TEST(HttpSource, OptionsThatCannotBeMeantAreRefused) {
  const auto refusal = [](HttpSourceOptions options) {
    auto made = HttpSource::make(std::move(options));
    return made ? "taken" : made.error().message();
  };
  const std::string url = "http://127.0.0.1:1";
  EXPECT_THAT(refusal({.url = "ftp://x", .feeds = {"/a"}, .positions = "p"}), HasSubstr("'ftp://x'"));
  EXPECT_THAT(refusal({.url = url, .feeds = {}, .positions = "p"}), HasSubstr("feeds is empty"));
  EXPECT_THAT(refusal({.url = url, .feeds = {"orders"}, .positions = "p"}), HasSubstr("'orders' is no path"));
  EXPECT_THAT(refusal({.url = url, .feeds = {"/a b"}, .positions = "p"}), HasSubstr("'/a b' is no path"));
  EXPECT_THAT(refusal({.url = url, .feeds = {"/a", "/a"}, .positions = "p"}), HasSubstr("twice"));
  EXPECT_THAT(refusal({.url = url, .feeds = {"/a"}, .positions = ""}), HasSubstr("names no file"));
  EXPECT_EQ(refusal({.url = url, .feeds = {"/a"}, .positions = "p"}), "taken");
}

conformance::SourceUnderTest under_test(bool follow) {
  struct World {
    FeedApi api{{{"/orders", 10}, {"/customers", 10}}};
    Scratch scratch;
  };
  auto world = std::make_shared<World>();
  auto options = options_for(world->api, world->scratch, {"/orders", "/customers"});
  options.follow = follow;
  return {.make = [options] { return HttpSource::make(options); },
          .records = 20,
          .more = [world] { world->api.add("/customers"); },
          .committed =
              [world] {
                std::map<PartitionId, Watermark> kept;
                std::istringstream lines(world->scratch.read());
                std::int64_t offset = 0;
                for (std::string feed; lines >> offset >> feed;)
                  kept[PartitionId(feed == "/orders" ? 0 : 1)] = Watermark(offset);
                return kept;
              },
          .fail_reading = [world] { world->api.all_answers(status(404)); },
          .keep = world};
}

const int kBounded =
    testing::register_conformance("HttpSourceBounded", conformance::source_rules([] { return under_test(false); }));
const int kFollowing =
    testing::register_conformance("HttpSourceFollowing", conformance::source_rules([] { return under_test(true); }));

}  // namespace
}  // namespace millrace::tutorial
