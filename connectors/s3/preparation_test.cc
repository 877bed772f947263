// SPDX-License-Identifier: Apache-2.0
// Goal: a run that is stopped before it has handed out a lane leaves no manifest behind that another run would have to
// wait for. Method: the source alone, its claim held up by a faulty store, closed at every point before begin().
#include "connectors/s3/preparation.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "connectors/s3/source_fixture.h"

namespace millrace::s3_source {
namespace {

using millrace::testing::Fault;
using millrace::testing::FaultyStore;
using millrace::testing::StoreOp;

class PreparationTest : public SourceTest {
 protected:
  /// Opens the source; its lanes are not asked for.
  void open() {
    S3SourceOptions options;
    options.url = "s3://b/in/";
    options.checkpoint.url = "s3://b/ck/manifest.json";
    auto settings = settle(options);
    ASSERT_TRUE(settings) << settings.error().message();
    settings->retry = {.tries = 8, .backoff = {.initial = Duration(1), .cap = Duration(1)}};
    source = std::make_unique<BackfillSource>(*std::move(settings), StartFlags{},
                                              [this](const StoreUrl&, const StoreOptions&, const StoreContext&) {
                                                return Result<std::shared_ptr<ObjectStore>>(store);
                                              });
    SourceContext context;
    context.pipeline = "pipe";
    context.control = Waker(control);
    context.log = Logger(log, "s3");
    context.meter = Meter(std::make_shared<MetricRegistry>(), {});
    ASSERT_TRUE(source->open(std::move(context)));
  }
  /// Opens the source, and comes back when everything is ready to be taken.
  void prepare() {
    const EventCount::Ticket ticket = control->ticket();
    open();
    ASSERT_TRUE(control->wait_until(ticket, Clock::real(), Clock::real().now() + std::chrono::minutes(1)));
  }
  [[nodiscard]] bool there() const { return memory->contents().contains(kManifest); }

  std::shared_ptr<FaultyStore> store = std::make_shared<FaultyStore>(memory);
  std::shared_ptr<LogCapture> log = std::make_shared<LogCapture>();
  std::shared_ptr<EventCount> control = std::make_shared<EventCount>();
  std::unique_ptr<BackfillSource> source;
};

TEST_F(PreparationTest, WhatWasClaimedAndNotTakenIsReleased) {
  fill(3);
  prepare();
  source->close();
  EXPECT_TRUE(stored().owner.released);
  EXPECT_EQ(stored().generation, 2U) << "the claim and the goodbye";
  BackfillRig next(memory);
  EXPECT_EQ(message_of(next.run()), "succeeded");
  EXPECT_EQ(next.log->count("waiting up to"), 0U) << next.log->all();
}

TEST_F(PreparationTest, AClaimUnderWayIsWaitedForAndReleased) {
  fill(3);
  store->add({.op = StoreOp::put, .hang = true});
  open();
  while (store->hanging() == 0) {
  }
  Thread closing("control", [&] { source->close(); });
  store->release();
  closing.join();
  EXPECT_TRUE(stored().owner.released);
}

// The store took the claim and its answer was lost: the manifest is ours all the same.
TEST_F(PreparationTest, AClaimWhoseAnswerWasLostIsReleased) {
  fill(3);
  store->add({.op = StoreOp::put, .error = Error::retryable(ErrorCode::timeout, "no answer"), .done_anyway = true});
  open();
  while (!there()) {
  }
  source->close();
  EXPECT_TRUE(stored().owner.released);
}

TEST_F(PreparationTest, AStopBeforeTheClaimWritesNothing) {
  fill(3);
  store->add({.op = StoreOp::list, .hang = true});
  open();
  while (store->hanging() == 0) {
  }
  source->close();
  EXPECT_FALSE(there());
  EXPECT_EQ(memory->count(StoreOp::put), 0U);
}

TEST_F(PreparationTest, K10_AClaimWithoutAnAnswerHoldsTheEndUpToTheDeadlineAndNoLonger) {
  fill(3);
  store->add({.op = StoreOp::put, .times = Fault::kAlways, .hang = true});
  open();
  while (store->hanging() == 0) {
  }
  source->close_by(Clock::real().now());
  EXPECT_EQ(store->hanging(), 0U);
  EXPECT_FALSE(there());
}

TEST_F(PreparationTest, K10_AGoodbyeWithoutAnAnswerHoldsTheEndUpToTheDeadlineAndNoLonger) {
  fill(3);
  store->add({.op = StoreOp::put, .nth = 2, .times = Fault::kAlways, .hang = true});
  prepare();
  source->close_by(Clock::real().now());
  EXPECT_EQ(store->hanging(), 0U);
  EXPECT_FALSE(stored().owner.released);
  EXPECT_EQ(log->count("the manifest could not be released"), 1U) << log->all();
}

// With --take-over the owner may be at work: what its manifest named a moment ago is replaced, so it is read once more.
TEST_F(PreparationTest, F12_ATakeOverReadsTheManifestAgainWhenTheOwnerWasFaster) {
  fill(2);
  const auto with_receipt = [](BackfillRig& rig) { rig.options.receipt.url = "s3://b/receipts/r.ndjson"; };
  BackfillRig owner(memory);
  with_receipt(owner);
  ASSERT_TRUE(owner.commit_and_die(2));
  const std::string part = stored().receipt->at.name;
  ASSERT_FALSE(part.empty());
  BackfillRig next(memory);
  with_receipt(next);
  next.options.lanes = 1;
  next.flags.take_over = true;
  next.store->add({.op = StoreOp::get, .key = part, .before = [&] {
                     Manifest theirs = stored();
                     ++theirs.generation;
                     theirs.receipt->at.name = "manifest.receipt-000009-newer.ndjson.zst";
                     memory->set("ck/" + theirs.receipt->at.name, memory->contents().at("ck/" + part));
                     memory->erase("ck/" + part);
                     memory->set(kManifest, to_json(theirs));
                   }});
  ASSERT_EQ(message_of(next.run()), "succeeded");
  EXPECT_EQ(next.store->hits(), 1U);
  EXPECT_EQ(next.records.size(), 4U) << "from where it was";
  EXPECT_NE(memory->contents().at("receipts/r.ndjson").find("\"listed\":2,\"read\":2"), std::string::npos);
}

TEST_F(PreparationTest, F12_AnotherRunsManifestIsNotReleased) {
  fill(3);
  store->add({.op = StoreOp::put, .before = [this] {
                Manifest theirs;
                theirs.lanes = 4;
                theirs.owner.id = "them";
                memory->set(kManifest, to_json(theirs));
              }});
  open();
  const auto event = source->poll_events(std::chrono::seconds(20));
  ASSERT_FALSE(event);
  EXPECT_EQ(event.error().code(), ErrorCode::fenced);
  source->close();
  EXPECT_EQ(stored().owner.id, "them");
  EXPECT_FALSE(stored().owner.released);
}

}  // namespace
}  // namespace millrace::s3_source
