// SPDX-License-Identifier: Apache-2.0
// Goal: no byte of another object, of an object's other version, or of a wrong codec becomes a record (rows C, D and F
// as a server shows them). Method: objects that change, vanish and are cut while they are read.
#include <gtest/gtest.h>

#include "connectors/s3/compressed_by.h"
#include "tests/s3_source/source_on_server.h"

namespace millrace::s3_source {
namespace {

using millrace::testing::StoreOp;

TEST_F(SourceOnServer, C02_NoRangeBehindTheEnd) {
  put("in/0", "");
  put("in/1.gz", "");
  put("in/2", numbered(512, 128));  // four chunks exactly
  put("in/3", "");
  fresh().options.chunk_bytes = {16U << 10U};
  rig->options.prefetch_bytes = {64U << 10U};
  run(*rig);
  ASSERT_EQ(problem(), "succeeded");
  EXPECT_EQ(lines(), numbered_lines(512, 128));
  EXPECT_GE(gets().size(), 2U);
  for (const auto& request : gets()) {
    EXPECT_EQ(request.key, "in/2") << "no ranged GET for no bytes";
    EXPECT_EQ(request.status, 206);
  }
  EXPECT_TRUE(stored().complete);
}

TEST_F(SourceOnServer, C09_CrlfCutByTheNetworkAndByChunks) {
  const std::string bytes = "{\"n\":1}\r\n{\"a\":\"x\ry\"}\r\n{\"n\":3}\r\n";
  const Lines expected{"{\"n\":1}", "{\"a\":\"x\ry\"}", "{\"n\":3}"};
  put("in/a", bytes);
  for (std::size_t at = bytes.find("\r\n"); at != std::string::npos; at = bytes.find("\r\n", at + 1)) {
    server->clear_faults();
    ServerFault pause{.operation = "GetObject", .key = "in/a", .times = 1};
    pause.delivery.pause_after = at + 1;  // a segment ends between CR and LF
    pause.delivery.pause = std::chrono::milliseconds(20);
    server->add_fault(pause);
    fresh().flags.reset = true;
    run(*rig);
    ASSERT_EQ(problem(), "succeeded");
    EXPECT_EQ(lines(), expected) << at;
  }
  for (std::size_t chunk = 16; chunk <= bytes.size(); ++chunk) {
    fresh().options.chunk_bytes = {chunk};
    rig->options.prefetch_bytes = {2 * chunk};
    rig->flags.reset = true;
    run(*rig);
    ASSERT_EQ(problem(), "succeeded");
    EXPECT_EQ(lines(), expected) << chunk;
  }
}

TEST_F(SourceOnServer, D09_ContentEncodingOfTheAnswerIsUndoneOnce) {
  put("in/0", "0\n", {.content_encoding = "aws-chunked"});
  put("in/1", gzip_of("1\n"), {.content_encoding = "aws-chunked,gzip"});
  put("in/2.gz", gzip_of("2\n"), {.content_encoding = "gzip"});
  put("in/3", zstd_of("3\n"), {.content_encoding = "zstd"});
  run(fresh());
  ASSERT_EQ(problem(), "succeeded");
  EXPECT_EQ(lines(), (Lines{"0", "1", "2", "3"}));
}

TEST_F(SourceOnServer, D11_AWindowOverTheLimitNamesKeyNeedAndOption) {
  // By hand: magic, a descriptor without flags, a window of 2^(10+21) bytes, and nothing more.
  put("in/a.zst", std::string("\x28\xB5\x2F\xFD\x00\xA8", 6));
  run(fresh());
  ASSERT_FALSE(result);
  for (const char* part : {"s3://b/in/a.zst", "2 GiB", "zstd_window_log_max"}) {
    EXPECT_NE(problem().find(part), std::string::npos) << part << " in " << problem();
  }
  put("in/a.zst", output_of("zstd -q -c --long=22", "1\n2\n"));
  fresh().options.zstd_window_log_max = 21;
  run(*rig);
  ASSERT_FALSE(result);
  EXPECT_NE(problem().find("zstd_window_log_max"), std::string::npos) << problem();
  fresh().options.zstd_window_log_max = 22;
  rig->flags.reset = true;
  run(*rig);
  ASSERT_EQ(problem(), "succeeded");
  EXPECT_EQ(lines(), (Lines{"1", "2"}));
}

TEST_F(SourceOnServer, F01_AnOverwriteDuringTheReadNeverMixesVersions) {
  const std::string v1 = numbered(100'000, 10);
  std::string v2 = v1;
  for (char& c : v2) c = c == '\n' ? c : 'v';
  for (const bool honoured : {true, false}) {
    start();
    put("in/a", v1);
    const std::string pinned = *server->object("b", "in/a")->etag;
    ServerFault overwrite{.operation = "GetObject", .key = "in/a", .skip = 1, .times = 1};
    overwrite.replace_object = v2;
    overwrite.delivery.close_after = 4'000;
    server->add_fault(overwrite);
    if (!honoured) server->add_fault("op=GetObject key=in/a skip=1 times=every ignore_conditions");
    fresh().options.chunk_bytes = {100'000};
    rig->options.requests_in_flight = 1;
    run(*rig);
    expect_failed(ErrorCode::drift, {"s3://b/in/a", pinned, *server->object("b", "in/a")->etag});
    EXPECT_FALSE(rig->records.empty());
    for (std::size_t i = 0; i < rig->records.size(); ++i) {
      ASSERT_EQ(rig->records[i].bytes, fmt::format("{:09}", i)) << "only the first version";
    }
    // The third is not repeated; who was refused asks for one byte of what is there now.
    std::vector<std::string> pins;
    for (const auto& request : gets()) pins.emplace_back(request.http.header("if-match"));
    ASSERT_EQ(pins, (std::vector<std::string>{pinned, pinned, pinned, ""}));
    EXPECT_EQ(gets()[2].status, honoured ? 412 : 206);
  }
}

TEST_F(SourceOnServer, F05_AnObjectThatIsGoneStopsByName) {
  for (const bool marker : {false, true}) {
    start();
    put("in/a", "a\n");
    put("in/b", "b\n");
    put("in/c", "c\n");
    ServerFault gone{.operation = "GetObject", .key = "in/b", .times = millrace::testing::kEveryTime, .status = 404};
    gone.code = "NoSuchKey";
    if (marker) gone.headers = {{"x-amz-delete-marker", "true"}};
    server->add_fault(gone);
    run(fresh());
    expect_failed(ErrorCode::drift, {"s3://b/in/b", "deleted after it was listed"});
    EXPECT_EQ(server->count("GetObject", "in/b"), 1U) << "not a transient error";
    EXPECT_EQ(lines(), Lines{"a"}) << "what came before is intact";
  }
}

TEST_F(SourceOnServer, B07_AStoreThatIgnoresIfMatchAloneIsFoundOutAndToldOnce) {
  put("in/a", "1\n2\n");
  server->add_fault("op=PutObject times=every ignore_if_match");
  run(fresh());
  EXPECT_TRUE(result) << problem();
  EXPECT_EQ(rig->log->count("does not do conditional writes"), 1U) << rig->log->all();
  EXPECT_EQ(rig->log->count("(If-Match was ignored)"), 1U);
  EXPECT_TRUE(stored().complete);
}

TEST_F(SourceOnServer, F12_OfTwoFirstRunsExactlyOneGoesOn) {
  put("in/a", "a\n");
  BackfillRig winner(store());
  fresh().store->add({.op = StoreOp::put, .key = "ck/manifest.json", .before = [&] {
                        const auto opened = winner.open();
                        EXPECT_TRUE(opened) << opened.error().message();
                      }});
  const auto lost = rig->open();
  ASSERT_FALSE(lost);
  EXPECT_TRUE(lost.error().is_fatal());
  for (const char* part : {"s3://b/ck/manifest.json", "--take-over"}) {
    EXPECT_NE(lost.error().message().find(part), std::string::npos) << lost.error().message();
  }
  EXPECT_NE(lost.error().message().find(stored().owner.host), std::string::npos) << lost.error().message();
  ASSERT_TRUE(winner.poll_records(SIZE_MAX));
  ASSERT_TRUE(winner.commit());
  EXPECT_EQ(winner.records.size(), 1U);
  EXPECT_TRUE(stored().complete);
}

}  // namespace
}  // namespace millrace::s3_source
