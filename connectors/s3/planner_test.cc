// SPDX-License-Identifier: Apache-2.0
// Goal: a plan tells what a run would find and do, and does nothing of it. Method: memory stores whose requests are
// looked at, and the run itself beside the plan.
#include "connectors/s3/planner.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "connectors/s3/codec_choice.h"
#include "connectors/s3/plan_text.h"
#include "connectors/s3/source_fixture.h"

namespace millrace::s3_source {
namespace {

using millrace::testing::Fault;
using millrace::testing::FaultyStore;
using millrace::testing::StoreOp;
using ::testing::HasSubstr;
using ::testing::Not;

class PlannerTest : public SourceTest {
 protected:
  PlannerTest() {
    options.url = "s3://b/in/";
    options.checkpoint.url = "s3://b/ck/manifest.json";
    options.lanes = 2;
  }
  BackfillPlan plan(bool sniff = false) {
    auto settings = settle(options);
    EXPECT_TRUE(settings) << settings.error().message();
    settings->retry = {.tries = 2, .backoff = {.initial = Duration(1), .cap = Duration(1)}};
    request.sniff = sniff;
    auto made =
        plan_backfill(*settings, {}, request, [this](const StoreUrl&, const StoreOptions&, const StoreContext&) {
          return Result<std::shared_ptr<ObjectStore>>(faulty);
        });
    EXPECT_TRUE(made) << made.error().message();
    return made ? *std::move(made) : BackfillPlan();
  }
  /// What a run ends with.
  Result<void> run() {
    BackfillRig rig(faulty);
    rig.options = options;
    return rig.run();
  }
  const std::shared_ptr<FaultyStore> faulty = std::make_shared<FaultyStore>(memory);
  S3SourceOptions options;
  PlanRequest request;
};

TEST_F(PlannerTest, LooksAndDoesNothing) {
  fill(5);
  memory->set("in/", "");
  memory->set("in/x", "");
  const auto before = memory->contents();
  const BackfillPlan fresh = plan();
  EXPECT_EQ(fresh.objects, 7U);
  EXPECT_EQ(fresh.counts.markers, 1U);
  EXPECT_EQ(fresh.counts.empty, 1U);
  EXPECT_EQ(fresh.left.reads, 5U);
  EXPECT_EQ(fresh.pages, 1U);
  EXPECT_EQ(fresh.saves_per_minute, 12);
  EXPECT_EQ(fresh.resume.kind, ResumePlan::Kind::fresh);
  EXPECT_TRUE(fresh.can_run());
  EXPECT_EQ(memory->contents(), before);
  EXPECT_EQ(memory->count(StoreOp::put), 0U);
  EXPECT_EQ(memory->count(StoreOp::read), 0U);
  EXPECT_EQ(memory->count(StoreOp::remove), 0U);
  for (const auto& made : memory->requests()) {
    EXPECT_TRUE(made.op == StoreOp::list || made.key == kManifest) << made.key;
  }
}

TEST_F(PlannerTest, KnowsWhatIsLeftAndWhenNothingIs) {
  fill(4, 10);
  {
    BackfillRig rig(memory);
    rig.options = options;
    ASSERT_TRUE(rig.commit_and_die(14));  // on one lane: the first object, and four records of the second
  }
  options.lanes = 1;
  const auto before = memory->contents();
  const BackfillPlan half = plan();
  EXPECT_EQ(half.resume.kind, ResumePlan::Kind::resume);
  EXPECT_EQ(half.left.objects, 3U);
  EXPECT_EQ(half.left.reads, 3U);
  EXPECT_EQ(half.left.in_progress, 1U);
  EXPECT_EQ(half.left.records_again, 4U);
  EXPECT_TRUE(half.resume.kept_by) << "this process lives, and was killed before it said goodbye";
  EXPECT_EQ(memory->contents(), before);
  ASSERT_NO_FATAL_FAILURE([&] {
    BackfillRig rig(memory);
    rig.options = options;
    rig.flags.take_over = true;
    const auto ran = rig.run();
    ASSERT_TRUE(ran) << ran.error().message();
  }());
  const BackfillPlan done = plan();
  EXPECT_EQ(done.resume.kind, ResumePlan::Kind::finished);
  EXPECT_EQ(done.left, WorkLeft{});
  EXPECT_FALSE(done.resume.kept_by);
}

TEST_F(PlannerTest, RefusesInTheWordsOfARun) {
  fill(4);
  ASSERT_TRUE(run());
  const auto expect_same = [&](const char* part) {
    const BackfillPlan refused = plan();
    const auto ran = run();
    EXPECT_EQ(refused.resume.kind, ResumePlan::Kind::refused);
    EXPECT_FALSE(refused.can_run());
    ASSERT_FALSE(ran);
    EXPECT_EQ(refused.resume.refusal, ran.error().describe());
    EXPECT_THAT(refused.resume.refusal, HasSubstr(part));
    EXPECT_GT(refused.objects, 0U) << "what was listed is told all the same";
    EXPECT_EQ(refused.left, WorkLeft{}) << "and no work, as none would be done";
    EXPECT_THAT(plan_text(refused), HasSubstr("  requests   1 page of the listing\n  memory "));
    EXPECT_THAT(plan_json(refused), Not(HasSubstr(R"("left")")));
  };
  options.lanes = 3;
  expect_same("lanes was 2 and is 3 now");
  options.lanes = 2;
  options.exclude = {"x"};
  expect_same("exclude");
  options.exclude = {};
  memory->set(key(0), "{}\n");
  expect_same("whose prefix hash (of its object and all before it) was");
  memory->set(kManifest, "{}");
  expect_same("Nothing was started");
}

TEST_F(PlannerTest, AnEmptyPrefixFailsOnlyWhereItIsAskedTo) {
  EXPECT_TRUE(plan().can_run());
  options.on_empty = OnEmpty::fail;
  const BackfillPlan refused = plan();
  EXPECT_FALSE(refused.can_run());
  EXPECT_EQ(refused.resume.refusal, run().error().describe());
}

TEST_F(PlannerTest, ArchivedObjectsAreAskedOnRequestOnly) {
  fill(3);
  memory->set("in/cold.ndjson", "{}\n", {.storage_class = "GLACIER"});
  const BackfillPlan unasked = plan();
  EXPECT_TRUE(unasked.archived_unasked);
  EXPECT_FALSE(unasked.can_run());
  EXPECT_THAT(plan_text(unasked), HasSubstr("would fail unless the archived objects have been restored"));
  EXPECT_EQ(memory->count(StoreOp::read), 0U);
  EXPECT_TRUE(plan(/*sniff=*/true).can_run()) << "it has been restored";
  faulty->add({.op = StoreOp::read,
               .key = "cold",
               .times = Fault::kAlways,
               .error = Error::fatal(ErrorCode::not_supported, "403 InvalidObjectState")});
  const BackfillPlan asked = plan(/*sniff=*/true);
  EXPECT_FALSE(asked.can_run());
  const auto ran = run();
  ASSERT_FALSE(ran);
  EXPECT_EQ(asked.resume.refusal, ran.error().describe());
  options.on_archived = OnArchived::skip;
  EXPECT_TRUE(plan().can_run());
  EXPECT_TRUE(run());
}

TEST_F(PlannerTest, WhatIsSetAsideEndsNoRun) {
  fill(2);
  memory->set("in/z.gz", "not gzip\n");
  EXPECT_FALSE(plan(/*sniff=*/true).can_run());
  options.on_object_error = OnObjectError::quarantine;
  const BackfillPlan sniffed = plan(/*sniff=*/true);
  EXPECT_TRUE(sniffed.can_run());
  EXPECT_THAT(plan_text(sniffed), HasSubstr("a run would set aside: object 's3://b/in/z.gz'"));
  EXPECT_THAT(plan_text(sniffed), Not(HasSubstr("would fail")));
  EXPECT_THAT(plan_json(sniffed), HasSubstr(R"("set_aside":true)"));
  const auto ran = run();
  ASSERT_TRUE(ran) << ran.error().message();
  const BackfillPlan done = plan();
  EXPECT_EQ(done.resume.kind, ResumePlan::Kind::finished);
  EXPECT_THAT(plan_text(done), HasSubstr("1 object that could not be read was set aside by earlier runs\n"));
  EXPECT_THAT(plan_text(done), HasSubstr("exit code 4; with --retry-quarantined"));
}

TEST_F(PlannerTest, APositionThatGoesWithTheRunIsNotNamed) {
  fill(1);
  request.keeps_position = false;
  const BackfillPlan made = plan();
  EXPECT_EQ(made.saves_per_minute, 0);
  EXPECT_THAT(plan_text(made), Not(HasSubstr("manifest.json")));
  EXPECT_THAT(plan_text(made), Not(HasSubstr("times a minute")));
  EXPECT_THAT(plan_json(made), Not(HasSubstr("manifest.json")));
}

// owner_timeout 30s asks for a sign of life 10 s after each save.
TEST_F(PlannerTest, SignsOfLifeAreSavesToo) {
  fill(1);
  for (const auto& [seconds, saves] : {std::pair(5, 12), {10, 6}, {15, 8}, {60, 6}}) {
    request.checkpoint_interval = std::chrono::seconds(seconds);
    EXPECT_DOUBLE_EQ(plan().saves_per_minute, saves) << "every " << seconds << " s";
  }
}

TEST_F(PlannerTest, A14_SiblingsAreShownBeforeARun) {
  for (const char* key : {"data/v1/a.ndjson", "data/v10/b.ndjson", "data/v1-old/c.ndjson"}) memory->set(key, "{}\n");
  options.url = "s3://b/data/v1";
  const BackfillPlan siblings = plan();
  EXPECT_EQ(siblings.siblings, "data/v1-old/, data/v10/");
  EXPECT_THAT(plan_text(siblings), HasSubstr("also takes data/v1-old/, data/v10/"));
  options.url = "s3://b/data/v1/";
  EXPECT_EQ(plan().siblings, "");
}

TEST_F(PlannerTest, AShardKnowsItsPartAndTheWhole) {
  fill(40);
  std::uint64_t objects = 0;
  for (std::uint64_t index = 0; index < 3; ++index) {
    options.shard = S3SourceOptions::Shard{.index = index, .count = 3};
    const BackfillPlan part = plan();
    ASSERT_TRUE(part.whole);
    EXPECT_EQ(part.whole->objects, 40U);
    EXPECT_EQ(part.resume.manifest_url, fmt::format("s3://b/ck/manifest.shard-{}-of-3.json", index));
    EXPECT_THAT(plan_text(part), HasSubstr(fmt::format("shard      {} of 3: {} of 40 objects", index, part.objects)));
    objects += part.objects;
  }
  EXPECT_EQ(objects, 40U);
}

TEST_F(PlannerTest, ASampleTellsWhatObjectsHold) {
  fill(100, 3);  // 16 bytes a line
  memory->set("in/o050.ndjson", "\x1f\x8b\x08 a gzip object, not marked as one");
  const BackfillPlan sniffed = plan(/*sniff=*/true);
  ASSERT_TRUE(sniffed.sample);
  EXPECT_EQ(sniffed.sample->objects.size(), kSampledObjects);
  EXPECT_EQ(sniffed.sample->objects.front().key, "in/o000.ndjson");
  EXPECT_EQ(sniffed.sample->objects.back().key, "in/o099.ndjson");
  EXPECT_EQ(memory->count(StoreOp::read), kSampledObjects);
  for (const SampledObject& object : sniffed.sample->objects) EXPECT_EQ(object.records, 3U) << object.key;
  const auto estimate = estimate_of(sniffed);
  ASSERT_TRUE(estimate);
  EXPECT_NEAR(static_cast<double>(*estimate->records), 300, 10);
  EXPECT_TRUE(sniffed.can_run()) << "the one that lies is none of the twenty";

  memory->set("in/o099.ndjson", "\x1f\x8b\x08 a gzip object, not marked as one");
  const BackfillPlan lies = plan(/*sniff=*/true);
  EXPECT_EQ(lies.sample->problems(), 1U);
  EXPECT_FALSE(lies.can_run());
  memory->erase("in/o050.ndjson");
  const auto ran = run();
  ASSERT_FALSE(ran);
  EXPECT_EQ(lies.sample->objects.back().problem, ran.error().message());
}

TEST_F(PlannerTest, AStoreThatIsAwayIsWaitedForOnce) {
  fill(3);
  faulty->add({.op = StoreOp::read,
               .key = "in/",
               .times = Fault::kAlways,
               .error = Error::retryable(ErrorCode::unavailable, "503 SlowDown")});
  EXPECT_EQ(plan(/*sniff=*/true).sample->problems(), 3U);
  EXPECT_EQ(faulty->hits(), 2U + 1U + 1U) << "two tries of the first, one of each other";
}

TEST_F(PlannerTest, ASampleIsOfWhatWasListed) {
  fill(1);
  auto settings = settle(options);
  ASSERT_TRUE(settings);
  ListingBuilder builder;
  ASSERT_TRUE(builder.add(
      {.key = key(0), .size = body(0).size(), .etag = {"\"another\""}, .last_modified = 0, .storage_class = ""}));
  const auto listing = std::move(builder).finish();
  ASSERT_TRUE(listing);
  StopSignal stop;
  const Sample sample = take_sample(*memory, *listing, *settings, "s3://b/", Clock::real(), Random::system(), stop);
  ASSERT_EQ(sample.objects.size(), 1U);
  EXPECT_NE(sample.objects[0].problem, "") << "another version is not sampled";
}

TEST_F(PlannerTest, AReceiptThatCannotGoOnIsRefusedInTheWordsOfARun) {
  fill(2);
  ASSERT_TRUE(run());
  memory->set("in/z.ndjson", "{}\n");
  options.receipt.url = "s3://b/r/r.ndjson";
  const BackfillPlan refused = plan();
  const auto ran = run();
  ASSERT_FALSE(ran);
  EXPECT_EQ(refused.resume.refusal, ran.error().describe());
}

}  // namespace
}  // namespace millrace::s3_source
