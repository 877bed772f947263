// SPDX-License-Identifier: Apache-2.0
// ManifestKeeper: nothing waits for a store but flush, the latest state wins, heartbeats go on, goodbye is said.
#include "connectors/s3/manifest_keeper.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "connectors/s3/log_capture.h"
#include "millrace/testing/faulty_store.h"
#include "millrace/testing/manual_clock.h"
#include "millrace/testing/memory_store.h"

namespace millrace::s3_source {
namespace {

using millrace::testing::Fault;
using millrace::testing::FaultyStore;
using millrace::testing::ManualClock;
using millrace::testing::MemoryStore;
using millrace::testing::StoreOp;

constexpr const char* kKey = "ck/manifest.json";

class ManifestKeeperTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Owner self;
    self.id = "me";
    file = std::make_unique<ManifestFile>(store, ManifestFile::Options{.key = kKey, .url = "s3://b/m"}, self, clock,
                                          Random::system(), Logger(log, "s3"), stop);
    ASSERT_TRUE(file->acquire());
    Manifest first;
    first.lanes = 2;
    ASSERT_TRUE(file->save(first, false));
    keeper = std::make_unique<ManifestKeeper>(*file, first, clock, Random::system(), Logger(log, "s3"),
                                              [this](const Error& error) { lost.push_back(error.code()); });
  }
  Manifest stored() { return *parse_manifest(memory->contents().at(kKey)); }
  static std::vector<LanePosition> at(std::uint64_t lane, std::int64_t watermark) {
    return {{lane, Watermark(watermark), "k", "e", 1}};
  }
  std::size_t saves() { return memory->count(StoreOp::put); }

  ManualClock clock;
  std::shared_ptr<MemoryStore> memory = std::make_shared<MemoryStore>(MemoryStore::Options{.clock = &clock});
  std::shared_ptr<FaultyStore> store = std::make_shared<FaultyStore>(memory, clock);
  std::shared_ptr<LogCapture> log = std::make_shared<LogCapture>();
  StopSignal stop;
  std::unique_ptr<ManifestFile> file;
  std::vector<ErrorCode> lost;
  std::unique_ptr<ManifestKeeper> keeper;
};

TEST_F(ManifestKeeperTest, FlushMakesWhatWasSubmittedDurable) {
  keeper->start();
  keeper->submit(at(1, 5), false);
  keeper->submit(at(0, 7), false);
  keeper->submit(at(1, 6), false);
  ASSERT_TRUE(keeper->flush());
  const Manifest manifest = stored();
  ASSERT_EQ(manifest.positions.size(), 2U);
  EXPECT_EQ(manifest.position(0)->watermark, Watermark(7));
  EXPECT_EQ(manifest.position(1)->watermark, Watermark(6));
  EXPECT_EQ(keeper->saved().positions, manifest.positions);
}

// In one save with the position behind it (ADR-0011), and there it stays.
TEST_F(ManifestKeeperTest, INV1_WhatIsSetAsideIsSavedWithThePositionBehindIt) {
  keeper->start();
  const Quarantine aside{{.lane = 1, .ordinal = 0, .key = "k", .code = "corrupt", .reason = "no gzip"}};
  const std::int64_t complete = (std::int64_t{1} << 40) - 1;
  keeper->submit(at(1, complete), false, {}, {}, aside);
  ASSERT_TRUE(keeper->flush());
  EXPECT_EQ(stored().quarantined, aside);
  EXPECT_EQ(stored().position(1)->watermark, Watermark(complete));
  keeper->submit(at(1, complete + 6), false);
  ASSERT_TRUE(keeper->flush());
  EXPECT_EQ(stored().quarantined, aside);
}

TEST_F(ManifestKeeperTest, SubmittingNeverWaitsAndTheLatestStateWins) {
  store->add({.op = StoreOp::put, .nth = 1, .hang = true});  // the keeper's first call: its probe
  keeper->start();
  while (store->hanging() == 0) {
  }
  for (int i = 1; i <= 100; ++i) keeper->submit(at(0, i), false);
  const std::size_t before = saves();
  store->release();
  ASSERT_TRUE(keeper->flush());
  EXPECT_EQ(stored().position(0)->watermark, Watermark(100));
  EXPECT_LE(saves() - before, 4U) << "the probe's two and one save, or two";
}

TEST_F(ManifestKeeperTest, AFailedSaveIsTriedAgainOnTheNextTick) {
  keeper->start();
  keeper->submit(at(0, 1), false);
  ASSERT_TRUE(keeper->flush());
  store->add({.op = StoreOp::put, .error = Error::retryable(ErrorCode::timeout, "10 s without an answer")});
  const std::uint64_t hits = store->hits();
  keeper->submit(at(0, 2), false);
  while (store->hits() == hits) {
  }
  clock.wait_for_sleepers(1);
  EXPECT_EQ(stored().position(0)->watermark, Watermark(1)) << "an old manifest costs replay, never loss";
  keeper->submit(at(0, 3), false);  // the tick; no time has passed
  ASSERT_TRUE(keeper->flush());
  EXPECT_EQ(stored().position(0)->watermark, Watermark(3));
  EXPECT_EQ(log->count("could not be saved; trying again"), 1U);
  EXPECT_TRUE(lost.empty());
}

TEST_F(ManifestKeeperTest, INV2_AFlushThatDoesNotComeAboutSaysSo) {
  store->add({.op = StoreOp::put, .times = Fault::kAlways, .error = Error::retryable(ErrorCode::unavailable, "503")});
  keeper->start();
  keeper->submit(at(0, 1), false);
  while (log->count("could not be saved; trying again") == 0) {
  }
  Result<void> flushed;
  Atomic<bool> done{false};
  Thread flushing("control", [&] {
    flushed = keeper->flush();
    done.store(true);
  });
  while (!done.load()) clock.advance(std::chrono::seconds(1));
  flushing.join();
  ASSERT_FALSE(flushed);
  EXPECT_EQ(flushed.error().code(), ErrorCode::not_durable);
  EXPECT_NE(flushed.error().message().find("503"), std::string::npos);
}

TEST_F(ManifestKeeperTest, K10_AStoreThatDoesNotAnswerHoldsTheEndUpToTheDeadlineAndNoLonger) {
  keeper->start();
  clock.wait_for_sleepers(1);  // its probe is through
  store->add({.op = StoreOp::put, .times = Fault::kAlways, .hang = true});
  keeper->submit(at(0, 1), false);
  while (store->hanging() == 0) {
  }
  const SteadyTime begun = clock.now();
  Result<void> flushed;
  Atomic<bool> done{false};
  Thread ending("control", [&] {
    flushed = keeper->flush(begun + std::chrono::seconds(3));
    keeper->release(begun + std::chrono::seconds(5));
    done.store(true);
  });
  while (!done.load()) clock.advance(std::chrono::milliseconds(100));
  ending.join();
  ASSERT_FALSE(flushed);
  EXPECT_EQ(flushed.error().code(), ErrorCode::not_durable);
  EXPECT_EQ(store->hanging(), 0U) << "the save under way was cut off";
  EXPECT_TRUE(lost.empty());
  EXPECT_EQ(log->count("the manifest is lost"), 0U) << "it is not: this run only stopped waiting";
}

TEST_F(ManifestKeeperTest, B09_WhatFailsIsKnownUntilASaveSucceeds) {
  store->add({.op = StoreOp::put, .times = Fault::kAlways, .error = Error::retryable(ErrorCode::unavailable, "503")});
  keeper->start();
  EXPECT_FALSE(keeper->last_error());
  keeper->submit(at(0, 1), false);
  while (!keeper->last_error()) {
  }
  EXPECT_EQ(keeper->last_error()->code(), ErrorCode::unavailable);
  store->clear();
  keeper->submit(at(0, 2), false);
  ASSERT_TRUE(keeper->flush());
  EXPECT_FALSE(keeper->last_error());
}

TEST_F(ManifestKeeperTest, TheHeartbeatGoesOnWithoutCommits) {
  keeper->start();
  const UnixMicros before = stored().owner.heartbeat;
  clock.wait_for_sleepers(1);
  clock.advance(std::chrono::seconds(10));  // a third of owner_timeout
  while (stored().owner.heartbeat == before) {
  }
  EXPECT_EQ(stored().owner.heartbeat, before + 10'000'000);
}

TEST_F(ManifestKeeperTest, GoodbyeIsSaidOnce) {
  keeper->start();
  keeper->submit(at(0, 1), false);
  keeper->release();
  EXPECT_TRUE(stored().owner.released);
  EXPECT_EQ(stored().position(0)->watermark, Watermark(1));
  const std::size_t before = saves();
  keeper->release();
  keeper.reset();
  EXPECT_EQ(saves(), before);
}

TEST_F(ManifestKeeperTest, TheLastSaveOfAFinishedBackfillIsItsGoodbye) {
  keeper->start();
  keeper->submit(at(0, 1), true);
  ASSERT_TRUE(keeper->flush());
  EXPECT_TRUE(stored().complete);
  EXPECT_TRUE(stored().owner.released);
  const std::size_t before = saves();
  keeper->release();
  EXPECT_EQ(saves(), before);
}

TEST_F(ManifestKeeperTest, ARetryKeepsAManifestThatIsComplete) {
  Manifest complete = stored();
  complete.complete = true;
  complete.quarantined = {{.lane = 0, .ordinal = 3, .key = "a"}, {.lane = 1, .ordinal = 0, .key = "b"}};
  complete.positions = {at(0, watermark_of({4, 5}).value()).front(),
                        at(1, watermark_of({0, kObjectComplete}).value()).front()};
  ASSERT_TRUE(file->save(complete, false));
  keeper = std::make_unique<ManifestKeeper>(*file, complete, clock, Random::system(), Logger(log, "s3"),
                                            [this](const Error& error) { lost.push_back(error.code()); });
  keeper->start();
  RetryNews news{.left = {complete.quarantined[1]}, .positions = complete.positions, .listing = {2, 3, 4}};
  news.positions[0].etag = "anew";
  keeper->submit_retry(news);
  ASSERT_TRUE(keeper->flush());
  EXPECT_TRUE(stored().complete);
  EXPECT_FALSE(stored().owner.released);
  EXPECT_EQ(stored().quarantined, news.left);
  EXPECT_EQ(stored().positions, news.positions);
  EXPECT_EQ(stored().listing, news.listing);
  const UnixMicros before = stored().owner.heartbeat;
  clock.wait_for_sleepers(1);
  clock.advance(file->options().owner_timeout / 3);
  while (stored().owner.heartbeat == before) {
  }
  news.left.clear();
  news.done = true;
  keeper->submit_retry(news);
  ASSERT_TRUE(keeper->flush());
  EXPECT_TRUE(stored().quarantined.empty());
  EXPECT_TRUE(stored().owner.released) << "nothing is left to do";
}

TEST_F(ManifestKeeperTest, F12_AFencedKeeperTellsAtOnceAndWritesNoMore) {
  keeper->start();
  keeper->submit(at(0, 1), false);
  ASSERT_TRUE(keeper->flush());
  Manifest theirs = stored();
  theirs.owner.id = "them";
  memory->set(kKey, to_json(theirs));
  keeper->submit(at(0, 2), false);
  const auto flushed = keeper->flush();
  ASSERT_FALSE(flushed);
  EXPECT_EQ(flushed.error().code(), ErrorCode::fenced);
  keeper->release();
  EXPECT_EQ(lost, std::vector{ErrorCode::fenced});
  EXPECT_EQ(stored().owner.id, "them") << "not even a goodbye";
  EXPECT_EQ(keeper->failure()->code(), ErrorCode::fenced);
}

// A store that is out for a minute at the start must not cost the run its kept listing.
TEST_F(ManifestKeeperTest, AListingThatCouldNotBeKeptIsTriedAgain) {
  Atomic<int> tries{0};
  const auto keep = [&]() -> Result<StoredRecord> {
    if (tries.fetch_add(1) < 3) return fail(Error::retryable(ErrorCode::unavailable, "503"));
    return StoredRecord{.name = "manifest.listing.zst", .bytes = 7, .hash = 9};
  };
  Manifest first = stored();
  keeper = std::make_unique<ManifestKeeper>(
      *file, first, clock, Random::system(), Logger(log, "s3"),
      [this](const Error& error) { lost.push_back(error.code()); }, keep);
  keeper->start();
  for (int tried = 1; tried <= 3; ++tried) {
    while (tries.load() < tried) {
    }
    // Positions are saved all the same.
    keeper->submit(at(0, tried), false);
    ASSERT_TRUE(keeper->flush());
    EXPECT_EQ(stored().position(0)->watermark, Watermark(tried));
    EXPECT_TRUE(stored().kept_listing.name.empty());
    clock.wait_for_sleepers(1);
    clock.advance(std::chrono::minutes(1));
  }
  while (tries.load() < 4) {
  }
  while (stored().kept_listing.name.empty()) {
  }
  EXPECT_EQ(stored().kept_listing.name, "manifest.listing.zst");
  EXPECT_EQ(log->count("could not be kept beside the manifest; trying again"), 1U) << log->all();
  clock.wait_for_sleepers(1);
  clock.advance(std::chrono::minutes(2));
  keeper->submit(at(0, 4), false);
  ASSERT_TRUE(keeper->flush());
  EXPECT_EQ(tries.load(), 4) << "once is enough";
  keeper->release();
}

TEST_F(ManifestKeeperTest, AListingThatCannotBeKeptIsSaidAndGivenUp) {
  Atomic<int> tries{0};
  keeper = std::make_unique<ManifestKeeper>(
      *file, stored(), clock, Random::system(), Logger(log, "s3"),
      [this](const Error& error) { lost.push_back(error.code()); },
      [&]() -> Result<StoredRecord> {
        tries.fetch_add(1);
        return fail(Error::fatal(ErrorCode::permission_denied, "403"));
      });
  keeper->start();
  clock.wait_for_sleepers(1);
  clock.advance(std::chrono::minutes(2));
  keeper->submit(at(0, 1), false);
  ASSERT_TRUE(keeper->flush());
  EXPECT_EQ(tries.load(), 1);
  EXPECT_EQ(log->count("should objects change, they cannot be named"), 1U);
  keeper->release();
}

TEST_F(ManifestKeeperTest, F12_WhoWasTakenOverWritesNoReceipt) {
  Manifest with_receipt = stored();
  with_receipt.receipt = ReceiptState{.url = "s3://b/r.ndjson"};
  keeper = std::make_unique<ManifestKeeper>(
      *file, with_receipt, clock, Random::system(), Logger(log, "s3"),
      [this](const Error& error) { lost.push_back(error.code()); }, nullptr,
      std::make_unique<ReceiptFile>(memory, memory,
                                    ReceiptFile::Options{.manifest_key = kKey, .key = "r.ndjson", .owner = "me"}));
  keeper->start();
  Manifest theirs = stored();
  theirs.owner.id = "them";
  memory->set(kKey, to_json(theirs));
  keeper->submit({}, /*complete=*/true, {}, {});
  EXPECT_FALSE(keeper->flush());
  keeper->release();
  EXPECT_EQ(lost, std::vector{ErrorCode::fenced});
  EXPECT_FALSE(memory->contents().contains("r.ndjson"));
}

}  // namespace
}  // namespace millrace::s3_source
