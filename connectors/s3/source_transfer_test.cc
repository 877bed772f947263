// SPDX-License-Identifier: Apache-2.0
// What the S3 source makes of objects that change and of transfers that break. The expected records are those that were
// put into the store.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "connectors/s3/source_reading.h"

namespace millrace::s3_source {
namespace {

using millrace::testing::Fault;
using millrace::testing::MemoryStore;
using millrace::testing::StoreOp;

// --- F: objects that change

TEST_F(Reading, F01_AnOverwriteDuringTheReadNeverMixesVersions) {
  std::string v1;
  std::string v2;
  for (int i = 0; i < 2000; ++i) {
    v1 += "{\"v\":1}\n";
    v2 += "{\"v\":2}\n";
  }
  memory->set("in/a", v1);
  BackfillRig run(memory);
  run.options.lanes = 1;
  run.options.chunk_bytes = {1000};
  run.options.prefetch_bytes = {2000};
  run.store->add({.op = StoreOp::read, .nth = 5, .before = [&] { memory->set("in/a", v2); }});
  const auto ended = run.run();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code(), ErrorCode::drift);
  const std::string now = memory->list({.prefix = "in/a"})->objects[0].etag.value;
  EXPECT_NE(message_of(ended).find("s3://b/in/a"), std::string::npos);
  EXPECT_NE(message_of(ended).find("is " + now + " now"), std::string::npos) << message_of(ended);
  EXPECT_FALSE(run.records.empty());
  for (const Record& record : run.records) EXPECT_EQ(record.bytes, "{\"v\":1}");
  EXPECT_EQ(run.store->hits(), 1U) << "not retried";
}

TEST_F(Reading, F05_AnObjectThatIsGoneIsNamedAndNotRetried) {
  fill(3);
  BackfillRig run(memory);
  run.options.lanes = 1;
  run.store->add({.op = StoreOp::read, .key = key(1), .before = [&] { memory->erase(key(1)); }});
  const auto ended = run.run();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code(), ErrorCode::drift);
  EXPECT_NE(message_of(ended).find("'s3://b/" + key(1) + "' was deleted after it was listed"), std::string::npos)
      << message_of(ended);
  EXPECT_EQ(run.by_object().size(), 1U) << "what came before is intact";
  EXPECT_EQ(run.metric("etl_s3_source_get_retries_total"), 0);
}

TEST_F(Reading, AChangedSizeIsDrift) {
  memory->set("in/a", "1\n", {.listed_size = 100});
  BackfillRig run(memory);
  const auto ended = run.run();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code(), ErrorCode::drift);
  const std::string etag = memory->list({.prefix = "in/a"})->objects[0].etag.value;
  EXPECT_NE(
      message_of(ended).find("'s3://b/in/a' was listed with 100 bytes and is read with another size, although its "
                             "ETag is " +
                             etag + " in both"),
      std::string::npos)
      << message_of(ended);
}

// Without a pin nothing but the size tells that another object lies there.
TEST_F(Reading, AChangedSizeIsToldWithBothETagsAndTheWayOut) {
  memory->set("in/a", "1\n2\n3\n");
  const std::string before = memory->list({.prefix = "in/a"})->objects[0].etag.value;
  BackfillRig run(memory);
  // The store finds the new size before it looks at the condition.
  run.store->add(
      {.op = StoreOp::read,
       .before = [&] { memory->set("in/a", "1\n"); },
       .error = Error::fatal(ErrorCode::drift, "reading s3://b/in/a: the server answered 416 InvalidRange")});
  const auto ended = run.run();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code(), ErrorCode::drift);
  const std::string now = memory->list({.prefix = "in/a"})->objects[0].etag.value;
  EXPECT_NE(
      message_of(ended).find("object 's3://b/in/a' has another size than when it was listed with 6 bytes: its ETag "
                             "was " +
                             before + " and is " + now +
                             " now; nothing of the new version was taken. No record of it was taken: run again, and "
                             "the new version is read"),
      std::string::npos)
      << message_of(ended);
}

// --- G: transfers that break

TEST_F(Reading, G01_AShortBodyIsReadOnFromTheLastByte) {
  std::string bytes;
  Lines lines;
  for (int i = 0; i < 1000; ++i) {
    lines.push_back(fmt::format("{{\"n\":{:06}}}", i));
    bytes += lines.back() + "\n";
  }
  for (const std::size_t at : {0UL, 1UL, 13UL, 14UL, 15UL, 600UL, bytes.size() - 1}) {  // 14: right behind a newline
    memory = std::make_shared<MemoryStore>();
    memory->set("in/a", bytes);
    BackfillRig run(memory);
    run.store->add({.op = StoreOp::read, .short_after = at});
    ASSERT_EQ(message_of(run.run()), "succeeded") << at;
    Lines got;
    for (const Record& record : run.records) got.push_back(record.bytes);
    EXPECT_EQ(got, lines) << at;
    std::vector<std::uint64_t> offsets;
    for (const auto& request : memory->requests()) {
      if (request.op != StoreOp::read) continue;
      EXPECT_TRUE(request.pinned);
      offsets.push_back(request.offset);
    }
    EXPECT_EQ(offsets.back(), at);
    EXPECT_EQ(run.metric("etl_s3_source_get_retries_total"), 1);
  }
}

TEST_F(Reading, G04_ResetsWithProgressDoNotUseUpTheTries) {
  std::string bytes;
  for (int i = 0; i < 100'000; ++i) bytes += fmt::format("{:09}\n", i);
  memory->set("in/a", bytes);
  BackfillRig run(memory);
  run.retry.tries = 3;
  for (std::uint64_t reset = 1; reset <= 5; ++reset) {
    run.store->add({.op = StoreOp::read, .nth = reset, .short_after = 50'000});
  }
  ASSERT_EQ(message_of(run.run()), "succeeded");
  ASSERT_EQ(run.records.size(), 100'000U);
  for (std::size_t i = 0; i < run.records.size(); ++i) {
    ASSERT_EQ(run.records[i].bytes, fmt::format("{:09}", i));
    ASSERT_EQ(run.records[i].offset, static_cast<std::int64_t>(i));
  }
  EXPECT_EQ(run.metric("etl_s3_source_get_retries_total"), 5);
  EXPECT_EQ(run.metric("etl_s3_source_bytes_read_total"), 1'000'000) << "nothing was fetched twice";
  EXPECT_EQ(run.log->count("warn a read failed and is tried again"), 1U) << "the first of its kind";
}

TEST_F(Reading, EightTriesInARowWithoutAByteAreFatal) {
  fill(2);
  BackfillRig run(memory);
  run.options.lanes = 1;
  run.store->add({.op = StoreOp::read,
                  .key = key(1),
                  .times = Fault::kAlways,
                  .error = Error::retryable(ErrorCode::interrupted_transfer, "reset by peer")});
  const auto ended = run.run();
  ASSERT_FALSE(ended);
  EXPECT_TRUE(ended.error().is_fatal());
  EXPECT_EQ(run.store->hits(), 8U);
  EXPECT_NE(message_of(ended).find("8 tries in a row"), std::string::npos) << message_of(ended);
  EXPECT_NE(message_of(ended).find("s3://b/" + key(1)), std::string::npos);
  EXPECT_EQ(run.records.size(), 3U);
}

TEST_F(Reading, AccessDeniedIsFatalAtOnce) {
  fill(1);
  BackfillRig run(memory);
  run.store->add({.op = StoreOp::read,
                  .times = Fault::kAlways,
                  .error = Error::fatal(ErrorCode::permission_denied, "403 AccessDenied")});
  const auto ended = run.run();
  ASSERT_FALSE(ended);
  EXPECT_EQ(run.store->hits(), 1U);
  EXPECT_NE(message_of(ended).find("AccessDenied"), std::string::npos);
}

TEST_F(Reading, G06_AStalledReadDoesNotHoldUpTheEnd) {
  fill(1);
  BackfillRig run(memory);
  run.store->add({.op = StoreOp::read, .hang = true});
  ASSERT_TRUE(run.open());
  while (run.store->hanging() == 0) {
  }
  const auto polled = run.lanes[0]->poll(10, Duration(0));
  ASSERT_TRUE(polled);
  EXPECT_TRUE(std::holds_alternative<Idle>(*polled));
  run.close();
  EXPECT_EQ(run.store->hanging(), 0U);
  EXPECT_TRUE(stored().owner.released);
}

TEST_F(Reading, B10_WithoutAnETagABrokenReadBeginsAgain) {
  memory = std::make_shared<MemoryStore>(MemoryStore::Options{.etags = MemoryStore::Tags::none});
  memory->set("in/a", "1\n2\n3\n");
  BackfillRig run(memory);
  run.store->add({.op = StoreOp::read, .short_after = 3});
  ASSERT_EQ(message_of(run.run()), "succeeded");
  EXPECT_EQ(run.records.size(), 3U);
  EXPECT_EQ(memory->requests().back().op == StoreOp::read ? memory->requests().back().offset : 0, 0U);
}

TEST_F(Reading, G09_FilesAreClosedHoweverTheirReadsEnd) {
  std::string pattern = (std::filesystem::temp_directory_path() / "millrace-XXXXXX").string();
  const std::filesystem::path folder = ::mkdtemp(pattern.data());
  std::filesystem::create_directories(folder / "in");
  for (int i = 0; i < 500; ++i) std::ofstream(folder / "in" / fmt::format("o{:03}", i)) << i << "\n";
  const auto descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
  };
  const auto before = descriptors();
  for (int round = 0; round < 3; ++round) {
    S3SourceOptions options;
    options.url = "file://" + (folder / "in").string() + "/";
    options.checkpoint.url = "file://" + (folder / "ck.json").string();
    auto settings = settle(options);
    ASSERT_TRUE(settings) << settings.error().message();
    auto store = open_store(settings->url, settings->store, {});
    ASSERT_TRUE(store);
    BackfillRig run(*store);
    run.options = options;
    run.flags.reset = true;
    run.flags.take_over = true;
    // Fifty are broken off, once each: by key, as every third read of all might hit the tries of one object eight times
    // in a row.
    for (int i = 0; i < 50; ++i) {
      run.store->add({.op = StoreOp::read, .key = fmt::format("o{:03}", 8 * i), .short_after = 1});
    }
    if (round == 1) {
      run.store->add({.op = StoreOp::read,
                      .key = "o400",
                      .times = Fault::kAlways,
                      .error = Error::fatal(ErrorCode::not_found, "404")});
    }
    const auto ended = run.run();
    EXPECT_EQ(ended.has_value(), round != 1) << message_of(ended);
    run.close();
  }
  std::filesystem::remove_all(folder);
  EXPECT_LE(descriptors(), before);
}

TEST_F(SourceTest, G01_BytesThatAreThrownAwayAgainAreNoProgress) {
  // Nothing pins the object, so each try begins anew, and each is cut at the same place.
  const auto weak = std::make_shared<MemoryStore>(MemoryStore::Options{.etags = MemoryStore::Tags::weak});
  weak->set("in/a.ndjson", "1\n2\n3\n");
  BackfillRig rig(weak);
  rig.store->add({.op = StoreOp::read, .times = 100, .short_after = 2});
  const auto run = rig.run();
  ASSERT_FALSE(run);
  EXPECT_NE(message_of(run).find("8 tries in a row"), std::string::npos) << message_of(run);
  EXPECT_LE(rig.store->hits(), 9U) << "the first try went somewhere, eight did not";
}

}  // namespace
}  // namespace millrace::s3_source
