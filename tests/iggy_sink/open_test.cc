// SPDX-License-Identifier: Apache-2.0
// Goal: what would keep records from being written is told before one moves, with the way out and without a secret.
// Method: a sink is opened on servers that lack something.
#include <gmock/gmock.h>

#include "tests/iggy_sink/sink_fixture.h"

namespace millrace::iggy_sink {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class IggySinkOpens : public ::testing::TestWithParam<const char*> {
 protected:
  IggySinkOpens() : server(GetParam()) {}
  static Result<void> opened(const IggySinkOptions& options, SinkContext context = context_for()) {
    MILLRACE_ASSIGN(const std::unique_ptr<Sink> sink, IggySink::make(options));
    return sink->open(std::move(context));
  }
  static std::string why_not(const IggySinkOptions& options) {
    const auto result = opened(options);
    if (result) return "it opened";
    EXPECT_EQ(result.error().error_class(), ErrorClass::fatal);
    return result.error().message();
  }
  [[nodiscard]] IggySinkOptions hasty() const {
    IggySinkOptions options = options_for(server);
    options.connect_timeout = std::chrono::milliseconds(300);
    return options;
  }
  iggy_rig::FakeServer server;
};

TEST_P(IggySinkOpens, OnATopicThatIsThere) {
  server.create(2);
  EXPECT_EQ(why_not(hasty()), "it opened");
}

TEST_P(IggySinkOpens, WhatIsMissingIsNamedWithTheWayOut) {
  EXPECT_THAT(why_not(hasty()), AllOf(HasSubstr("no stream 's'"), HasSubstr("'s/t'"), HasSubstr("create_partitions"),
                                      HasSubstr(server.address())));
  server.control({{"create", {{"stream", "s"}}}});
  EXPECT_THAT(why_not(hasty()),
              AllOf(HasSubstr("stream 's'"), HasSubstr("has no topic 't'"), HasSubstr("create_partitions")));
  server.create(2);
  IggySinkOptions options = hasty();
  options.partitioning = {IggyPartitioning::Kind::partition, 2};
  EXPECT_THAT(why_not(options), AllOf(HasSubstr("partitions 0 to 1"), HasSubstr("names 2")));
}

TEST_P(IggySinkOpens, WhatIsMissingIsMadeOnRequest) {
  IggySinkOptions options = hasty();
  options.create_partitions = 3;
  EXPECT_EQ(why_not(options), "it opened");
  EXPECT_EQ(server.control({{"partitions", {{"stream", "s"}, {"topic", "t"}}}}).size(), 3U);
  options.create_partitions = 5;
  EXPECT_EQ(why_not(options), "it opened") << "what is there is left as it is";
  EXPECT_EQ(server.control({{"partitions", {{"stream", "s"}, {"topic", "t"}}}}).size(), 3U);
}

TEST_P(IggySinkOpens, AWrongPasswordIsToldAtOnceAndNotShown) {
  server.create(1);
  IggySinkOptions options = hasty();
  options.connect_timeout = std::chrono::hours(1);
  options.password = Secret("not the right one");
  EXPECT_THAT(why_not(options), AllOf(HasSubstr("password is wrong"), Not(HasSubstr("not the right one"))));
}

TEST_P(IggySinkOpens, ATopicMayComeLate) {
  IggySinkOptions options = hasty();
  options.connect_timeout = std::chrono::seconds(60);
  Result<void> result;
  Thread thread("open", [&] { result = opened(options); });
  wait_for_request(server, "get_stream");
  server.create(1);
  thread.join();
  EXPECT_TRUE(result) << result.error().message();
}

TEST_P(IggySinkOpens, AStopEndsTheWaitForASilentServer) {
  server.create(1);
  server.control({{"fault", {{"on", "any"}, {"do", "silence"}, {"times", 0}}}});
  IggySinkOptions options = options_for(server);
  options.connect_timeout = std::chrono::hours(1);
  options.request_timeout = std::chrono::hours(1);
  options.protocol = GetParam() == std::string("vsr") ? iggy::ProtocolChoice::vsr : iggy::ProtocolChoice::classic;
  SinkContext context = context_for();
  Atomic<bool> asked{false};
  context.stop_requested = [&] { return asked.load(); };
  Result<void> result;
  Thread thread("open", [&] { result = opened(options, context); });
  wait_for_request(server, "login");
  asked.store(true);
  thread.join();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), ErrorCode::cancelled);
}

TEST(IggySinkOpensNowhere, TheAddressIsTold) {
  IggySinkOptions options;
  {
    iggy_rig::FakeServer gone("classic");
    options = options_for(gone);
  }
  options.connect_timeout = std::chrono::milliseconds(300);
  const auto sink = *IggySink::make(options);
  const auto result = sink->open(context_for());
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message(), AllOf(HasSubstr(options.address), HasSubstr("connect_timeout")));
}

INSTANTIATE_TEST_SUITE_P(Framings, IggySinkOpens, ::testing::Values("classic", "vsr"),
                         [](const auto& framing) { return std::string(framing.param); });

}  // namespace
}  // namespace millrace::iggy_sink
