// SPDX-License-Identifier: Apache-2.0
// Goal: whatever becomes of a transfer, each record comes once and whole, and nothing is held for ever (rows G).
// Method: the fault server cuts, resets and stalls answers; requests are counted and their ranges read.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>

#include "tests/s3_source/source_on_server.h"

namespace millrace::s3_source {
namespace {

std::ptrdiff_t open_descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
}

TEST_F(SourceOnServer, G01_AShortBodyIsReadOnFromTheLastByte) {
  for (const char* name : {"G01_short_body", "G01_chunked_without_end", "G01_until_close"}) {
    for (const std::size_t width : {14U, 10U}) {  // 600,000 bytes end inside a line, and right behind a newline
      start();
      put("in/a", numbered(100'000, width));
      play(name);
      run(fresh());
      ASSERT_EQ(problem(), "succeeded") << name;
      EXPECT_TRUE(lines() == numbered_lines(100'000, width)) << name << ' ' << width;
      ASSERT_EQ(gets().size(), 2U) << name;
      EXPECT_EQ(gets()[1].http.header("range"), fmt::format("bytes=600000-{}", 100'000 * width - 1)) << name;
      for (const auto& request : gets()) EXPECT_TRUE(request.http.has_header("if-match")) << name;
      EXPECT_EQ(rig->metric("etl_s3_source_get_retries_total"), 1) << name;
    }
  }
}

TEST_F(SourceOnServer, G04_AResetGoesOnFromTheLastGoodByte) {
  for (const auto& [name, resets] : {std::pair{"G04_reset_once", 1U}, {"G04_reset_five_times", 5U}}) {
    start();
    put("in/a", numbered(524'288, 10));  // 5 MiB
    play(name);
    fresh().retry.tries = 2;  // progress begins the count again
    run(*rig);
    ASSERT_EQ(problem(), "succeeded") << name;
    EXPECT_TRUE(lines() == numbered_lines(524'288, 10)) << name;
    const auto requests = gets();
    ASSERT_EQ(requests.size(), resets + 1) << name;
    for (const auto& request : requests) {
      EXPECT_EQ(request.http.header("if-match"), *server->object("b", "in/a")->etag) << name;
    }
    EXPECT_EQ(rig->metric("etl_s3_source_get_retries_total"), resets) << name;
    EXPECT_EQ(rig->metric("etl_s3_source_bytes_read_total"), 5'242'880) << name << ": nothing was fetched twice";
  }
}

// libcurl measures over some seconds, so the one second takes a few more.
TEST_F(SourceOnServer, G06_AStalledTransferIsTriedAgain) {
  put("in/a", numbered(100'000, 10));
  server->add_fault("op=GetObject key=in/a times=1 stall_after=65536");
  run(fresh(std::chrono::seconds(1)));
  ASSERT_EQ(problem(), "succeeded");
  EXPECT_TRUE(lines() == numbered_lines(100'000, 10));
  ASSERT_EQ(gets().size(), 2U);
  EXPECT_EQ(gets()[1].http.header("range"), "bytes=65536-999999");
}

TEST_F(SourceOnServer, G06_ClosingDuringAStallEndsIt) {
  put("in/a", numbered(100'000, 10));
  server->add_fault("op=GetObject key=in/a times=every stall_after=65536");
  ASSERT_TRUE(fresh().open());
  ASSERT_TRUE(server->wait_for("GetObject", 1));
  rig->close();  // an hour before the transport would give up
  EXPECT_FALSE(stored().complete);
}

/// As `ulimit -n 64`, for as long as it lives.
class FewDescriptors {
 public:
  FewDescriptors() {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &usual_), 0);
    rlimit few = usual_;
    few.rlim_cur = 64;
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  }
  ~FewDescriptors() { EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &usual_), 0); }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

 private:
  rlimit usual_{};
};

// A hundred of five hundred end early for good, by a record that is refused, by 412 and by 404: all are set aside, the
// others read, and nothing is left open.
TEST_F(SourceOnServer, G09_DescriptorsStayFewAndLevelWhileObjectsAreSetAside) {
  server.reset();
  const auto before = open_descriptors();
  const FewDescriptors few;
  start();
  Lines expected;
  for (int i = 0; i < 500; ++i) {
    const std::string line = fmt::format("{:09}", i);
    put(fmt::format("in/{:03}", i), line + "\n" + (i % 5 == 0 && i % 3 == 0 ? "bad\nmore\n" : "last\n"));
    if (i % 5 != 0 || i % 3 == 0) expected.push_back(line);
    if (i % 5 != 0) expected.emplace_back("last");
    if (i % 5 == 0 && i % 3 != 0) {
      server->add_fault(fmt::format("op=GetObject key=in/{:03} times=every status={}", i,
                                    i % 3 == 1 ? "412 code=PreconditionFailed" : "404 code=NoSuchKey"));
    }
  }
  fresh().options.requests_in_flight = 8;
  rig->options.on_object_error = OnObjectError::quarantine;
  rig->refuse = [](std::string_view record) { return record == "bad"; };
  run(*rig);
  EXPECT_EQ(problem(), "succeeded");
  EXPECT_EQ(lines(), expected);
  const Quarantine aside = stored().quarantined;
  EXPECT_EQ(aside.size(), 100U);
  for (const QuarantinedObject& object : aside) EXPECT_EQ(object.ordinal % 5, 0U) << object.key;
  EXPECT_LE(open_descriptors(), 64);
  rig.reset();
  server.reset();
  EXPECT_LE(open_descriptors(), before);
}

TEST_F(SourceOnServer, G09_DescriptorsStayFewAndLevel) {
  server.reset();
  const auto before = open_descriptors();
  const FewDescriptors few;
  for (const bool changes : {false, true}) {
    start();
    for (int i = 0; i < 500; ++i) put(fmt::format("in/{:03}", i), fmt::format("{:09}\n", i));
    for (int i = 0; i < 500; i += 5) {  // a hundred that end early
      ServerFault early{.operation = "GetObject", .key = fmt::format("in/{:03}", i), .times = 1};
      (i % 2 == 0 ? early.delivery.close_after : early.delivery.reset_after) = 4;
      server->add_fault(early);
    }
    if (changes) server->add_fault("op=GetObject key=in/401 times=every status=412 code=PreconditionFailed");
    fresh().options.requests_in_flight = 8;
    run(*rig);
    EXPECT_EQ(static_cast<bool>(result), !changes) << problem();
    if (!changes) {
      EXPECT_EQ(lines(), numbered_lines(500, 10));
    }
    EXPECT_LE(open_descriptors(), 64);
    rig.reset();
    server.reset();
    EXPECT_LE(open_descriptors(), before);
  }
}

}  // namespace
}  // namespace millrace::s3_source
