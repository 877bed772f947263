// SPDX-License-Identifier: Apache-2.0
// FetchLoop: budget, order, fairness, pause, throttling, by the shape and number of the requests that reach the store.
// The store holds reads back until the test lets them go, so nothing depends on time.
#include "connectors/s3/fetch_loop.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "connectors/s3/held_store.h"
#include "connectors/s3/log_capture.h"
#include "millrace/testing/manual_clock.h"

namespace millrace::s3_source {
namespace {

using millrace::testing::ManualClock;

class FetchLoopTest : public ::testing::Test {
 protected:
  void list(const std::vector<std::uint64_t>& sizes) {
    ListingBuilder builder;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      ASSERT_TRUE(
          builder.add({.key = fmt::format("o{:04}", i), .size = sizes[i], .etag = {"\"e\""}, .last_modified = 1}));
    }
    listing = std::make_shared<const Listing>(*std::move(builder).finish());
  }
  FetchLoop& loop() {
    if (!loop_) {
      loop_ = std::make_unique<FetchLoop>(store, routes_from(listing, std::vector<Position>(options.lanes)), options,
                                          metrics, clock, Random::system(), Logger(log, "s3"));
      loop_->start();
    }
    return *loop_;
  }
  void TearDown() override {
    if (!loop_) return;
    Atomic<bool> stopped{false};
    Thread stopping("stopper", [&] {
      loop_->stop();
      stopped.store(true);
    });
    while (!stopped.load()) drain();
  }
  /// Answers what is held.
  void drain() {
    while (!store->held().empty()) store->answer(0);
  }
  /// The next piece of a lane, waited for.
  Piece next(std::uint64_t lane) {
    while (true) {
      const auto ticket = loop().feed(lane).ticket();
      if (auto piece = loop().feed(lane).take()) return *std::move(piece);
      loop().feed(lane).wait_until(ticket, Clock::real(), Clock::real().now() + std::chrono::seconds(20));
    }
  }

  std::shared_ptr<HeldStore> store = std::make_shared<HeldStore>();
  std::shared_ptr<const Listing> listing;
  /// On a clock that stands still every store is near; no test but one means one.
  FetchLoop::Options options{
      .lanes = 1, .prefetch_bytes = 8000, .chunk_bytes = 500, .url = "s3://b/", .near_latency = Duration::zero()};
  /// Waits until the loop has taken so many failed tries; the waits before the next are counted from then.
  void wait_for_retries(std::uint64_t count) const {
    while (metrics.get_retries.value() < count) {
    }
  }

  SourceMetrics metrics;
  ManualClock clock;
  std::shared_ptr<LogCapture> log = std::make_shared<LogCapture>();
  std::unique_ptr<FetchLoop> loop_;
};

TEST_F(FetchLoopTest, TilesALargeObjectWithoutGapOrOverlap) {
  list({3500});
  loop();
  store->wait_for(4);
  EXPECT_EQ(store->held(),
            (std::vector<std::string>{"o0000@0+1000", "o0000@1000+1000", "o0000@2000+1000", "o0000@3000+500"}));
}

TEST_F(FetchLoopTest, HandsOverInOrderWhateverTheOrderOfAnswers) {
  list({2500, 10});
  loop();
  store->wait_for(4);
  store->answer(3);  // o0001
  store->answer(2);
  store->answer(1);
  EXPECT_FALSE(loop().feed(0).take());
  store->answer(0);
  for (const std::uint64_t offset : {0U, 1000U, 2000U}) {
    const Piece piece = next(0);
    EXPECT_EQ(piece.ordinal, 0U);
    EXPECT_EQ(piece.offset, offset);
    EXPECT_EQ(piece.last, offset == 2000);
    EXPECT_EQ(piece.bytes.view(), std::string(offset == 2000 ? 500 : 1000, '0'));
  }
  const Piece second = next(0);
  EXPECT_EQ(second.ordinal, 1U);
  EXPECT_EQ(second.bytes.view(), std::string(10, '1'));
}

// The store is asked for the new ETag; while it thinks, the others go on.
TEST_F(FetchLoopTest, F01_AskingWhatOverwroteAnObjectHoldsUpNobody) {
  options.lanes = 2;
  list({500, 500, 600});
  loop();
  store->wait_for(3);  // o0000 and o0002 of lane 0, o0001 of lane 1
  store->answer(0, Error::fatal(ErrorCode::precondition_failed, "412"));
  while (store->started() < 4) {
  }
  EXPECT_EQ(store->held().back(), "o0000@0+1");
  store->answer(0);  // o0001
  EXPECT_EQ(next(1).bytes.view(), std::string(500, '1'));
  EXPECT_FALSE(loop().feed(0).take());
  store->answer(store->held().size() - 1);
  const Piece piece = next(0);
  ASSERT_TRUE(piece.error);
  EXPECT_EQ(piece.error->code(), ErrorCode::drift);
  EXPECT_NE(piece.error->message().find("its ETag was \"e\""), std::string::npos) << piece.error->message();
}

TEST_F(FetchLoopTest, INV7_BytesReadAheadStayWithinTheBudgetUntilReleased) {
  list({100'000});
  loop();
  // 8000 bytes hold eight reads of 1000.
  store->wait_for(8);
  std::size_t most = 0;
  for (int i = 0; i < 60; ++i) {
    store->wait_for(1);
    most = std::max(most, store->bytes_held());
    store->answer(0);
    const Piece piece = next(0);
    loop().release(0, piece.charge);
  }
  EXPECT_LE(most, 8000U);
  EXPECT_GE(most, 5000U);
}

TEST_F(FetchLoopTest, INV7_WithoutReleaseNothingMoreIsRead) {
  list({100'000});
  loop();
  store->wait_for(8);
  const std::size_t started = store->started();
  drain();
  for (std::size_t i = 0; i < started; ++i) next(0);
  EXPECT_EQ(store->started(), started) << "taken, but not yet released";
}

TEST_F(FetchLoopTest, PrefetchCrossesObjectsAndCountsSmallOnesByTheirSize) {
  options.prefetch_bytes = 40'000;
  list(std::vector<std::uint64_t>(1000, 10));
  loop();
  store->wait_for(64);
  EXPECT_EQ(store->most(), 64U) << "requests_in_flight";
}

TEST_F(FetchLoopTest, RequestsInFlightAreBounded) {
  options.requests_in_flight = 3;
  options.prefetch_bytes = 100'000;
  list(std::vector<std::uint64_t>(100, 10));
  loop();
  for (int i = 0; i < 50; ++i) {
    store->wait_for(3);
    store->answer(static_cast<std::size_t>(i) % 3);
  }
  EXPECT_EQ(store->most(), 3U);
}

// Four reads under way and eight out in all are enough from a store that is near, and one is always allowed.
TEST_F(FetchLoopTest, FromANearStoreLessIsOut) {
  options.near_latency = std::chrono::milliseconds(8);
  options.first_latency = std::chrono::milliseconds(1);
  options.prefetch_bytes = 100'000;
  list({100'000});
  loop();
  for (int i = 0; i < 8; ++i) {
    store->wait_for(1);
    store->answer(0);
    next(0);
  }
  EXPECT_LE(store->most(), 4U);
  EXPECT_EQ(store->started(), 8U) << "taken, but not yet released";
  for (int i = 0; i < 20; ++i) {
    loop().release(0, 1000);
    store->wait_for(1);
    store->answer(0);
    next(0);
  }
  EXPECT_EQ(store->started(), 28U);
}

TEST_F(FetchLoopTest, LanesTakeTurns) {
  options.lanes = 4;
  options.requests_in_flight = 8;
  list(std::vector<std::uint64_t>(40, 900));
  loop();
  store->wait_for(8);
  EXPECT_EQ(store->held(), (std::vector<std::string>{"o0000@0+900", "o0001@0+900", "o0002@0+900", "o0003@0+900",
                                                     "o0004@0+900", "o0005@0+900", "o0006@0+900", "o0007@0+900"}));
}

TEST_F(FetchLoopTest, LanesWithNothingLeftLendTheirBudget) {
  options.lanes = 4;  // one large object: three lanes have nothing
  list({1'000'000});
  loop();
  store->wait_for(20);  // 4 x 8000 bytes hold 21
  EXPECT_LE(store->bytes_held(), 32'000U);
}

TEST_F(FetchLoopTest, ALaneMayAlwaysHaveOneRead) {
  options.prefetch_bytes = 600;
  options.chunk_bytes = 600;
  list({5000});
  loop();
  store->wait_for(1);
  EXPECT_EQ(store->held(), std::vector<std::string>{"o0000@0+600"});
  store->answer(0);
  Piece piece = next(0);
  loop().release(0, piece.charge);
  store->wait_for(1);
}

TEST_F(FetchLoopTest, APausedLaneStartsNoReadsAndOthersGoOn) {
  options.lanes = 2;
  list(std::vector<std::uint64_t>(200, 900));
  loop();
  store->wait_for(16);  // both budgets are full, so no read is about to start when the pause comes
  loop().pause(0, true);
  const auto of_lane_0 = [](const std::string& read) { return (read[4] - '0') % 2 == 0; };
  for (int i = 0; i < 8; ++i) {
    const std::vector<std::string> held = store->held();
    store->answer(static_cast<std::size_t>(std::ranges::find_if(held, of_lane_0) - held.begin()));
    const Piece piece = next(0);
    loop().release(0, piece.charge);
  }
  // Lane 0 has its whole budget and takes nothing; lane 1 goes through 20 objects.
  for (int i = 0; i < 20; ++i) {
    store->wait_for(8);
    EXPECT_TRUE(std::ranges::none_of(store->held(), of_lane_0));
    store->answer(0);
    const Piece piece = next(1);
    loop().release(1, piece.charge);
  }
  loop().pause(0, false);
  store->wait_for(9);
  EXPECT_TRUE(std::ranges::any_of(store->held(), of_lane_0));
}

TEST_F(FetchLoopTest, EmptyObjectsAreNotRead) {
  list({0, 10, 0, 0, 20});
  loop();
  store->wait_for(2);
  EXPECT_EQ(store->held(), (std::vector<std::string>{"o0001@0+10", "o0004@0+20"}));
}

TEST_F(FetchLoopTest, BeginsWhereALaneResumes) {
  list({10, 10, 10});
  loop_ = std::make_unique<FetchLoop>(store, routes_from(listing, std::vector<Position>{{1, kObjectComplete}}), options,
                                      SourceMetrics(), clock, Random::system(), Logger());
  loop_->start();
  store->wait_for(1);
  EXPECT_EQ(store->held(), std::vector<std::string>{"o0002@0+10"});
}

TEST_F(FetchLoopTest, H01_ThrottlingHalvesWhatIsInFlightAndSuccessBringsItBack) {
  options.prefetch_bytes = 100'000;
  options.requests_in_flight = 8;
  options.retry = {.tries = 8,
                   .patience = std::chrono::minutes(3),
                   .backoff = {.initial = std::chrono::seconds(1), .cap = std::chrono::seconds(1)}};
  list(std::vector<std::uint64_t>(100, 10));
  loop();
  store->wait_for(8);
  const auto slow_down = Error::retryable(ErrorCode::throttled, "503 SlowDown");
  for (int i = 0; i < 8; ++i) store->answer(0, slow_down);
  wait_for_retries(8);
  EXPECT_TRUE(store->held().empty()) << "intake is slowed";
  // Twenty throttled tries over two minutes do not end the run ...
  for (std::uint64_t i = 1; i <= 20; ++i) {
    clock.advance(std::chrono::seconds(6));
    store->wait_for(1);
    EXPECT_EQ(store->held().size(), 1U);
    store->answer(0, slow_down);
    wait_for_retries(8 + i);
  }
  // ... and once the store answers again, so does the loop, faster and faster.
  clock.advance(std::chrono::seconds(6));
  for (int i = 0; i < 30; ++i) {
    store->wait_for(1);
    store->answer(0);
  }
  store->wait_for(8);
  EXPECT_EQ(next(0).ordinal, 0U);
}

// Keys that were exchanged are unknown to some of the store's servers for half a minute, and a token service may be out
// for longer: a run that has worked waits for both, a wrong key at the start is not waited for (listing_test.cc).
TEST_F(FetchLoopTest, I03_RefusedCredentialsOfARunThatWorkedAreWaitedFor) {
  options.retry = {.tries = 8,
                   .patience = std::chrono::minutes(3),
                   .backoff = {.initial = std::chrono::seconds(1), .cap = std::chrono::seconds(5)}};
  list({10, 10});
  loop();
  store->wait_for(2);
  store->answer(0);
  const auto refused = Error::retryable(ErrorCode::credentials, "403 InvalidAccessKeyId");
  std::uint64_t retries = 0;
  for (; retries < 29; ++retries) {  // 29 x 6 s is just within the patience
    store->wait_for(1);
    store->answer(0, refused);
    wait_for_retries(retries + 1);
    clock.advance(std::chrono::seconds(6));
  }
  store->wait_for(1);
  store->answer(0);
  EXPECT_FALSE(next(0).error);
  EXPECT_FALSE(next(0).error);
}

TEST_F(FetchLoopTest, RetryAfterIsHonoured) {
  options.retry.patience = std::chrono::minutes(3);
  options.retry.backoff = {.initial = std::chrono::milliseconds(1), .cap = std::chrono::milliseconds(1)};
  list({10});
  loop();
  store->wait_for(1);
  store->answer(0, Error::retryable(ErrorCode::throttled, "503").with_retry_after(std::chrono::seconds(7)));
  wait_for_retries(1);
  clock.advance(std::chrono::milliseconds(6900));
  EXPECT_EQ(store->started(), 1U);
  clock.advance(std::chrono::milliseconds(200));
  store->wait_for(1);
}

TEST_F(FetchLoopTest, AnErrorReachesTheLaneBehindWhatCameBefore) {
  list({10, 10, 10});
  loop();
  store->wait_for(3);
  store->answer(1, Error::fatal(ErrorCode::permission_denied, "403"));
  EXPECT_FALSE(loop().feed(0).take());
  store->answer(0);
  EXPECT_FALSE(next(0).error);
  const Piece piece = next(0);
  ASSERT_TRUE(piece.error);
  EXPECT_NE(piece.error->message().find("s3://b/o0001"), std::string::npos);
}

// One object takes the whole budget and is skipped while of its eight reads one is done, one waits for its next try,
// one is done out of order, and the others are under way: the next object gets all of it, and nothing of the first
// comes.
TEST_F(FetchLoopTest, INV7_WhatIsSkippedIsGivenBackAndNotReadAgain) {
  list({8000, 8000});
  loop();
  store->wait_for(8);
  store->answer(0);
  EXPECT_EQ(next(0).offset, 0U);
  store->answer(0, Error::retryable(ErrorCode::interrupted_transfer, "reset"));
  wait_for_retries(1);
  store->answer(0);
  loop().skip(0, 0);
  store->wait_for_cancel();
  for (int i = 0; i < 5; ++i) store->answer(0, Error::fatal(ErrorCode::cancelled, "cancelled"));
  store->wait_for(7);
  loop().release(0, 1000);
  store->wait_for(8);
  clock.advance(std::chrono::hours(1));
  for (const std::string& read : store->held()) EXPECT_TRUE(read.starts_with("o0001")) << read;
  store->answer(0);
  EXPECT_EQ(next(0).ordinal, 1U);
}

TEST_F(FetchLoopTest, AFaultyObjectEndsItsOwnReadsWhenItIsToBeSetAside) {
  options.quarantine = true;
  list({3000, 10, 10});
  loop();
  store->wait_for(5);
  store->answer(0, Error::fatal(ErrorCode::not_found, "404"));
  const Piece piece = next(0);
  ASSERT_TRUE(piece.error);
  EXPECT_NE(piece.error->message().find("--retry-quarantined"), std::string::npos) << piece.error->message();
  store->wait_for_cancel();
  loop().skip(0, 0);  // as the lane does; it is said already
  for (int i = 0; i < 4; ++i) store->answer(0);
  EXPECT_EQ(next(0).ordinal, 1U);
  EXPECT_EQ(next(0).ordinal, 2U);
}

// The lane leaves an object when it meets a fault in it, which may be long after the loop has given up a later one.
TEST_F(FetchLoopTest, ALateSkipBringsNothingBackOfALaterObject) {
  options.quarantine = true;
  list({10, 3000, 10});
  loop();
  store->wait_for(5);
  store->answer(0);
  EXPECT_EQ(next(0).ordinal, 0U);
  store->answer(0, Error::fatal(ErrorCode::not_found, "404"));
  EXPECT_TRUE(next(0).error);
  store->wait_for_cancel();
  loop().skip(0, 0);
  for (int i = 0; i < 2; ++i) store->answer(0, Error::fatal(ErrorCode::cancelled, "cancelled"));
  store->answer(0);
  const Piece piece = next(0);
  EXPECT_EQ(piece.ordinal, 2U);
  EXPECT_FALSE(piece.error) << piece.error->message();
}

// In a retry an object may be left before anything of it was asked for, behind empty ones that are not read at all.
TEST(FetchLane, WhatIsSkippedAheadOfTheReadsIsNotReadAfterAll) {
  ListingBuilder then;
  ListingBuilder now;
  Quarantine aside;
  for (int i = 0; i < 3; ++i) {
    const std::string key = fmt::format("o{}", i);
    ASSERT_TRUE(then.add({.key = key, .size = 10, .etag = {"\"e\""}}));
    ASSERT_TRUE(now.add({.key = key, .size = i == 0 ? 0U : 10U, .etag = {"\"new\""}}));
    aside.push_back({.ordinal = static_cast<std::uint64_t>(i), .key = key, .etag = "\"e\"", .size = 10});
  }
  const Listing found = *std::move(now).finish();
  FetchLane lane(
      0, routes_to(std::make_shared<const Listing>(*std::move(then).finish()), visits_of(aside, found, 1)).front());
  lane.skip(1);
  ASSERT_TRUE(lane.settle());
  EXPECT_EQ(lane.route.ordinal(), 2U);
  EXPECT_EQ(lane.offset, 0U);
  lane.skip(0);
  EXPECT_EQ(lane.skipped, 1U);
}

TEST_F(FetchLoopTest, ARefusalIsNoFaultOfTheObjectAndEndsTheLane) {
  options.quarantine = true;
  list({10, 10});
  loop();
  store->wait_for(2);
  store->answer(1);
  store->answer(0, Error::fatal(ErrorCode::permission_denied, "403"));
  EXPECT_TRUE(next(0).error);
  EXPECT_FALSE(loop().feed(0).take());
}

TEST_F(FetchLoopTest, StopCancelsAndWaitsUntilTheStoreHasLetGoOfTheMemory) {
  list({100'000});
  loop();
  store->wait_for(5);
  Atomic<bool> stopped{false};
  Thread stopping("stopper", [&] {
    loop().stop();
    stopped.store(true);
  });
  store->wait_for_cancel();
  EXPECT_FALSE(stopped.load()) << "the store may still write";
  while (!store->held().empty()) store->answer(0, Error::fatal(ErrorCode::cancelled, "cancelled"));
  stopping.join();
}

}  // namespace
}  // namespace millrace::s3_source
