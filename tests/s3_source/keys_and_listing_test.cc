// SPDX-License-Identifier: Apache-2.0
// Goal: every listed key is read once, and what is no listing is never taken for one (rows A, E and G10). Method: odd
// keys, odd pages and gateways' pages of the fault server; expected records are those that were put.
#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "tests/s3_source/source_on_server.h"

namespace millrace::s3_source {
namespace {

TEST_F(SourceOnServer, A01_A03_A05_A08_A11_A16_EveryKeyIsReadOnceAndKeptApart) {
  start({.page_size = 4});
  const Lines keys = {"in/a b.ndjson",
                      "in/a%20b.ndjson",
                      "in/x%3Ay.ndjson",
                      "in/a.ndjson",
                      "in//b.ndjson",
                      "in///c.ndjson",
                      "in/c.ndjson",
                      "in/trail ",
                      "in/\ttab",
                      "in/\xC3\xA9.ndjson",
                      "in/e\xCC\x81.ndjson",
                      "in/a",
                      "in/a/b.ndjson",
                      "in/q?v#f.ndjson",
                      "in/100%.ndjson",
                      "in/[x]{y}.ndjson",
                      "in/a&b;c,d.ndjson",
                      "in/dt=2026-01-01T00:00:00+02:00/p.ndjson",
                      "in/+plus",
                      "in/../up",
                      "in/\xFF"};
  for (std::size_t i = 0; i < keys.size(); ++i) put(keys[i], fmt::format("{}\n", i));
  fresh().options.lanes = keys.size();  // so that every key is in the manifest
  run(*rig);
  ASSERT_EQ(problem(), "succeeded");
  const auto by_object = rig->by_object();
  EXPECT_EQ(by_object.size(), keys.size());
  std::set<std::string> kept;
  for (const auto& position : stored().positions) kept.insert(position.key);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    EXPECT_EQ(by_object.at(keys[i]), Lines{fmt::format("{}", i)}) << keys[i];
    EXPECT_TRUE(kept.contains(keys[i])) << keys[i];
  }
  EXPECT_EQ(gets().size(), keys.size());
  for (const auto& request : gets()) EXPECT_LT(request.status, 300) << request.http.target;
}

TEST_F(SourceOnServer, A09_APageThatCannotBeReadStopsWithItsNumber) {
  start({.page_size = 1});
  put("in/0", "x\n");
  put("in/1", "x\n");
  play("A09_raw_control_byte");
  run(fresh());
  expect_failed(ErrorCode::bad_response, {"s3://b/in/", "page 2"});
  EXPECT_TRUE(rig->records.empty()) << "never on with the keys so far";
  EXPECT_FALSE(has_manifest());
}

TEST_F(SourceOnServer, E01_E04_EveryObjectOnceWhateverThePages) {
  for (const auto& [objects, page] : {std::pair{1001U, 1000U}, {2500U, 1000U}, {2001U, 1000U}, {40U, 1U}}) {
    start({.page_size = page});
    for (unsigned i = 0; i < objects; ++i) put(fmt::format("in/{:05}", i), fmt::format("{}\n", i));
    fresh().options.lanes = 4;
    run(*rig);
    ASSERT_EQ(problem(), "succeeded");
    EXPECT_EQ(rig->records.size(), objects);
    std::uint64_t sum = 0;
    for (const Record& record : rig->records) sum += std::stoul(record.bytes);
    EXPECT_EQ(sum, std::uint64_t{objects} * (objects - 1) / 2);
    EXPECT_EQ(rig->metric("etl_s3_source_objects_listed_total"), objects);
    EXPECT_EQ(stored().listing.objects, objects);
    // Each token came back as it was given: the server refuses any other.
    EXPECT_EQ(server->count("ListObjectsV2"), (objects + page - 1) / page);
  }
}

TEST_F(SourceOnServer, WhatComesBeforeStartAfterIsNotEvenListed) {
  for (int i = 0; i < 10; ++i) put(fmt::format("in/{}", i), fmt::format("{}\n", i));
  fresh().options.start_after = "in/6 +&";
  run(*rig);
  ASSERT_EQ(problem(), "succeeded");
  EXPECT_EQ(lines(), (Lines{"7", "8", "9"}));
  const auto pages = server->requests("ListObjectsV2");
  ASSERT_EQ(pages.size(), 1U);
  EXPECT_EQ(pages[0].query_value("start-after"), "in/6 +&");
}

TEST_F(SourceOnServer, SizesAndTimesLeaveObjectsOut) {
  const UnixMicros noon = 1'782'907'200'000'000;  // 2026-07-01T12:00:00Z
  put("in/early", "1\n", {.last_modified = noon - 1'000'000});
  put("in/small", "", {.last_modified = noon});
  put("in/taken", "3\n", {.last_modified = noon});
  put("in/large", std::string(20, '4') + "\n", {.last_modified = noon});
  put("in/late", "5\n", {.last_modified = noon + 60'000'000});
  S3SourceOptions& options = fresh().options;
  options.min_size = ByteSize{1};
  options.max_size = ByteSize{20};
  options.modified_after = "2026-07-01T14:00:00+02:00";
  options.modified_before = "2026-07-01T12:01:00Z";
  run(*rig);
  ASSERT_EQ(problem(), "succeeded");
  EXPECT_EQ(lines(), Lines{"3"});
  EXPECT_EQ(gets().size(), 1U);
  EXPECT_EQ(stored().identity.limits.modified_after, "2026-07-01T12:00:00.000000Z");
}

TEST_F(SourceOnServer, E01_ARepeatedTokenStops) {
  put("in/0", "x\n");
  play("E01_repeated_token");
  run(fresh());
  ASSERT_FALSE(result);
  EXPECT_NE(problem().find("same continuation token"), std::string::npos) << problem();
  EXPECT_LE(server->count("ListObjectsV2"), 1U + static_cast<unsigned>(rig->retry.tries)) << "no endless listing";
  EXPECT_FALSE(has_manifest());
}

TEST_F(SourceOnServer, E05_ClosingDuringASlowPageEndsIt) {
  start({.page_size = 1});
  for (const char* key : {"in/0", "in/1", "in/2"}) put(key, "x\n");
  server->add_fault("op=ListObjectsV2 skip=1 times=every delay_ms=3600000");
  BackfillRig& source = fresh();
  auto settings = settle(source.options);
  ASSERT_TRUE(settings);
  BackfillSource bare(*std::move(settings), StartFlags{},
                      [&](const StoreUrl&, const StoreOptions&, const StoreContext&) { return store(); });
  ASSERT_TRUE(bare.open({}));
  ASSERT_TRUE(server->wait_for("ListObjectsV2", 2));
  bare.close();  // an hour before the page
  EXPECT_FALSE(has_manifest());
}

TEST_F(SourceOnServer, E08_AnArchivedObjectStopsBeforeAnyDataMoves) {
  put("in/0", "x\n");
  put("in/cold", "y\n", {.storage_class = "GLACIER"});
  put("in/z", "z\n");
  run(fresh());
  expect_failed(ErrorCode::not_supported, {"s3://b/in/cold", "on_archived: skip"});
  EXPECT_EQ(gets().size(), 1U) << "asked once, and for nothing else";
  fresh().options.on_archived = OnArchived::skip;
  run(*rig);
  ASSERT_EQ(problem(), "succeeded");
  EXPECT_EQ(lines(), (Lines{"x", "z"}));
  EXPECT_EQ(rig->log->count("skipping an archived object"), 1U);
}

TEST_F(SourceOnServer, E08_ARestoredCopyIsRead) {
  put("in/cold", "y\n", {.storage_class = "GLACIER", .restored = true});
  run(fresh());
  ASSERT_EQ(problem(), "succeeded");
  EXPECT_EQ(lines(), Lines{"y"});
}

TEST_F(SourceOnServer, G10_AGatewaysPageIsNoEmptyPrefix) {
  put("in/0", "x\n");
  for (const char* name : {"G10_login_page", "G10_unavailable_page", "G10_empty_listing"}) {
    server->clear_faults();
    play(name);
    run(fresh());
    ASSERT_FALSE(result) << name;
    EXPECT_TRUE(result.error().is_fatal()) << name;
    EXPECT_EQ(rig->log->count("no object to read"), 0U) << name;
    EXPECT_FALSE(has_manifest()) << name;
  }
}

TEST_F(SourceOnServer, G10_AGatewaysPageIsNoObject) {
  const std::string page = "<html><body>Please log in</body></html>";
  put("in/0", std::string(page.size() - 1, 'x') + "\n");  // even of the same length
  ServerFault login{.operation = "GetObject", .key = "in/0", .times = 2, .status = 200, .body = page};
  login.content_type = "text/html";
  server->add_fault(login);
  server->add_fault("op=GetObject key=in/0 times=2 status=503 content_type=text/html body='<html>503</html>'");
  run(fresh());
  ASSERT_EQ(problem(), "succeeded");
  EXPECT_EQ(lines(), Lines{std::string(page.size() - 1, 'x')});
  EXPECT_EQ(gets().size(), 5U);
}

}  // namespace
}  // namespace millrace::s3_source
