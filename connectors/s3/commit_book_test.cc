// SPDX-License-Identifier: Apache-2.0
// What commit objects say at each moment at which a run may die, and what the next run makes of them.
#include "connectors/s3/commit_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <fmt/format.h>

#include "connectors/s3/writer_fixture.h"

namespace millrace::s3_sink {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr PartitionId kPartition{0};
const auto kRecord =
    "out/_millrace/orders/commits-" + UploadLedger::slot_of("application_logs", "api_requests", kPartition) + ".json";

class CommitBookTest : public S3WriterTest {
 protected:
  /// What one run's writers share. Two runs never have the same name.
  std::shared_ptr<Upload> run(const std::string& name, const std::string& files_by = "nothing") {
    auto made = upload(IfExists::verify);
    made->exactly_once = true;
    made->commits = std::make_shared<CommitContext>(name, "out/_millrace/orders/", files_by);
    return made;
  }
  static const Origin& origin(const std::string& lineage = "topic 7") {
    static Origin of;
    of = *kOrigin;
    of.lineage = lineage;
    return of;
  }
  CommitRecord kept() {
    const auto all = memory_->contents();
    const auto found = all.find(kRecord);
    if (found == all.end()) return {};
    auto record = parse_commit_record(found->second);
    EXPECT_TRUE(record) << found->second;
    return record ? *record : CommitRecord();
  }
  std::size_t objects() {
    std::size_t count = 0;
    for (const auto& [key, body] : memory_->contents()) count += key.find("/_millrace/") == std::string::npos ? 1 : 0;
    return count;
  }
  /// Writes [first, last] in a run that dies before or behind the put of the object.
  void die(const std::string& name, bool behind_the_put, std::int64_t first = 0, std::int64_t last = 999) {
    ObjectWriter writer(run(name));
    ASSERT_TRUE(writer.recall(kPartition, Offset(0), &origin()));
    faulty_->add({.op = StoreOp::put, .key = ".jsonl", .error = unavailable(), .done_anyway = behind_the_put});
    SealedBatch sealed = batch("once", 0, first, last);
    ASSERT_FALSE(writer.write(sealed));
    faulty_->clear();
  }
};

TEST_F(CommitBookTest, AnObjectIsNotedBeforeItIsWrittenAndSettledByTheNextNote) {
  ObjectWriter writer(run("a"));
  auto recall = writer.recall(kPartition, Offset(0), &origin());
  ASSERT_TRUE(recall) << recall.error().message();
  EXPECT_EQ(recall->floor, Offset(0));
  EXPECT_TRUE(recall->durable.empty());
  const std::size_t before = memory_->count(StoreOp::put);
  SealedBatch first = batch("one", 0, 0, 4);
  SealedBatch second = batch("two", 1, 5, 9);
  ASSERT_TRUE(writer.write(first));
  EXPECT_EQ(memory_->count(StoreOp::put) - before, 2U) << "the note and the object";
  EXPECT_EQ(memory_->count(StoreOp::list), 0U);
  ASSERT_EQ(kept().unsettled.size(), 1U);
  EXPECT_EQ(kept().unsettled[0].last, Offset(4));
  EXPECT_TRUE(kept().durable.empty());
  ASSERT_TRUE(writer.write(second));
  EXPECT_EQ(kept().durable.at(0).last, Offset(4));
  EXPECT_EQ(kept().unsettled.at(0).first, Offset(5));
}

TEST_F(CommitBookTest, AnObjectThatCameToBeIsSettledByOneLook) {
  die("a", /*behind_the_put=*/true);
  const std::size_t looks = memory_->count(StoreOp::head);
  ObjectWriter writer(run("b"));
  const auto recall = writer.recall(kPartition, Offset(0), &origin());
  ASSERT_TRUE(recall);
  EXPECT_EQ(memory_->count(StoreOp::head) - looks, 1U);
  EXPECT_TRUE(recall->unsettled.empty());
  EXPECT_EQ(recall->durable.at(0).through, Offset(999));
}

// By which the next run tells its records from others under their offsets.
TEST_F(CommitBookTest, HowLateRecordsWereIsRecalled) {
  ObjectWriter writer(run("a"));
  auto recall = writer.recall(kPartition, Offset(0), &origin());
  ASSERT_TRUE(recall);
  EXPECT_EQ(recall->latest, kNoTimestamp);
  SealedBatch first = batch("once");
  first.chunk.read_until = 77;
  ASSERT_TRUE(writer.write(first));
  SealedBatch second = batch("twice", 1, 1000, 1999);
  second.chunk.read_until = 55;
  ASSERT_TRUE(writer.write(second));
  EXPECT_EQ(kept().latest, 77);
  recall = ObjectWriter(run("b")).recall(kPartition, Offset(2000), &origin());
  ASSERT_TRUE(recall);
  EXPECT_EQ(recall->latest, 77);
  EXPECT_THAT(recall->note, HasSubstr("_millrace/orders/commits-"));
  // What was read without a note may have come later.
  recall = ObjectWriter(run("c")).recall(kPartition, Offset(2001), &origin());
  ASSERT_TRUE(recall);
  EXPECT_EQ(recall->latest, kNoTimestamp);
}

// It may still come to be, so only the same file may be written in its place.
TEST_F(CommitBookTest, AnObjectThatDidNotIsMadeOnceMore) {
  die("a", /*behind_the_put=*/false);
  ObjectWriter writer(run("b"));
  const auto recall = writer.recall(kPartition, Offset(0), &origin());
  ASSERT_TRUE(recall);
  ASSERT_EQ(recall->unsettled.size(), 1U);
  EXPECT_EQ(recall->unsettled[0].first, Offset(0));
  EXPECT_EQ(recall->unsettled[0].last, Offset(999));
  SealedBatch other = batch("once", 0, 0, 500);
  const auto refused = writer.write(other);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::drift);
  EXPECT_THAT(refused.error().message(), HasSubstr("_millrace/orders/commits-"));
  EXPECT_EQ(objects(), 0U);
  SealedBatch same = batch("once", 1, 0, 999);
  EXPECT_TRUE(writer.write(same));
  EXPECT_EQ(objects(), 1U);
}

// The put of a run that is not as dead as it seems lands between the look and the new one.
TEST_F(CommitBookTest, APutThatLandsLateIsFoundAndNotDoubled) {
  die("a", /*behind_the_put=*/false);
  ObjectWriter writer(run("b"));
  ASSERT_TRUE(writer.recall(kPartition, Offset(0), &origin()));
  auto late = upload(IfExists::verify);
  SealedBatch landing = batch("once");
  ASSERT_TRUE(ObjectWriter(late).write(landing));
  SealedBatch same = batch("once", 7);
  EXPECT_TRUE(writer.write(same));
  EXPECT_EQ(objects(), 1U);
}

TEST_F(CommitBookTest, AStrangersObjectIsNotTakenForOurs) {
  die("a", /*behind_the_put=*/false);
  memory_->set(kKey, "strange");
  const auto recall = ObjectWriter(run("b")).recall(kPartition, Offset(0), &origin());
  ASSERT_FALSE(recall);
  EXPECT_EQ(recall.error().code(), ErrorCode::already_exists);
}

TEST_F(CommitBookTest, K02_OfTwoRunsTheLaterOneGoesOn) {
  ObjectWriter earlier(run("a"));
  ASSERT_TRUE(earlier.recall(kPartition, Offset(0), &origin()));
  ObjectWriter later(run("b"));
  ASSERT_TRUE(later.recall(kPartition, Offset(0), &origin()));
  SealedBatch sealed = batch("zombie", 0, 0, 30);
  const auto refused = earlier.write(sealed);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::fenced);
  EXPECT_TRUE(refused.error().is_fatal());
  EXPECT_EQ(objects(), 0U) << "it is refused before it writes";
  SealedBatch ours = batch("ours", 0, 0, 20);
  EXPECT_TRUE(later.write(ours));
}

TEST_F(CommitBookTest, ASaveWhoseAnswerIsLostIsKnownAgain) {
  ObjectWriter writer(run("a"));
  ASSERT_TRUE(writer.recall(kPartition, Offset(0), &origin()));
  faulty_->add({.op = StoreOp::put, .key = "commits-", .error = unavailable(), .done_anyway = true});
  SealedBatch sealed = batch("one");
  const auto unknown = writer.write(sealed);
  ASSERT_FALSE(unknown);
  EXPECT_TRUE(unknown.error().is_retryable());
  EXPECT_TRUE(writer.write(sealed));
  EXPECT_EQ(objects(), 1U);
  SealedBatch next = batch("two", 1, 1000, 1001);
  EXPECT_TRUE(writer.write(next));
}

// S3 answers 403, not 404, to who may not list.
TEST_F(CommitBookTest, NoRightToListIsNeeded) {
  const auto hidden = Error::fatal(ErrorCode::permission_denied, "403 AccessDenied");
  die("a", /*behind_the_put=*/false);
  faulty_->add({.op = StoreOp::head, .error = hidden});
  ObjectWriter second(run("b"));
  const auto recall = second.recall(kPartition, Offset(0), &origin());
  ASSERT_TRUE(recall) << recall.error().message();
  EXPECT_EQ(recall->unsettled.size(), 1U);
  faulty_->clear();
  faulty_->add({.op = StoreOp::get, .key = "commits-", .error = hidden});
  const auto refused = ObjectWriter(run("c")).recall(kPartition, Offset(0), &origin());
  ASSERT_FALSE(refused) << "it is there, so it must be read";
  faulty_->clear();
  ASSERT_TRUE(memory_->remove(kRecord));
  faulty_->add({.op = StoreOp::get, .key = "commits-", .error = hidden});
  EXPECT_TRUE(ObjectWriter(run("d")).recall(kPartition, Offset(0), &origin()));
}

// INV-1: a file behind one that was given up would make that one's records look durable to the next run.
TEST_F(CommitBookTest, INV1_NothingIsWrittenBehindAFileThatWasNot) {
  ObjectWriter writer(run("a"));
  ASSERT_TRUE(writer.recall(kPartition, Offset(0), &origin()));
  faulty_->add({.op = StoreOp::put, .key = "commits-", .error = unavailable()});
  SealedBatch first = batch("one", 0, 0, 4);
  ASSERT_FALSE(writer.write(first));
  SealedBatch second = batch("two", 1, 5, 9);
  const auto refused = writer.write(second);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().is_fatal());
  EXPECT_EQ(objects(), 0U);
  EXPECT_TRUE(writer.write(first));
  EXPECT_TRUE(writer.write(second));
}

// Records that a chain of now lets through no more: the watermark passes them, and the note of their file goes.
TEST_F(CommitBookTest, ANoteOfRecordsThatAreGoneHoldsNothingUp) {
  die("a", /*behind_the_put=*/false, 0, 4);
  auto shared = run("b");
  ObjectWriter writer(shared);
  const auto recall = writer.recall(kPartition, Offset(0), &origin());
  ASSERT_TRUE(recall);
  ASSERT_EQ(recall->unsettled.size(), 1U);
  shared->commits->settle(std::vector<PartitionWatermark>{{kPartition, Watermark(5)}});
  SealedBatch next = batch("two", 1, 5, 9);
  EXPECT_TRUE(writer.write(next));
  EXPECT_EQ(kept().unsettled.size(), 1U);
  EXPECT_EQ(kept().floor, Offset(5));
}

TEST_F(CommitBookTest, WhatIsCommittedNeedsNoNote) {
  auto shared = run("a");
  ObjectWriter writer(shared);
  ASSERT_TRUE(writer.recall(kPartition, Offset(0), &origin()));
  SealedBatch first = batch("one", 0, 0, 4);
  SealedBatch second = batch("two", 1, 5, 9);
  ASSERT_TRUE(writer.write(first));
  shared->commits->settle(std::vector<PartitionWatermark>{{kPartition, Watermark(5)}, {PartitionId(1), Watermark(99)}});
  ASSERT_TRUE(writer.write(second));
  EXPECT_EQ(kept().floor, Offset(5));
  EXPECT_TRUE(kept().durable.empty());
}

// INV-1: offsets of another lineage are other records; to leave those out would lose them.
TEST_F(CommitBookTest, INV1_OffsetsOfAnotherLineageAreRefused) {
  die("a", /*behind_the_put=*/true);
  const auto refused = ObjectWriter(run("b")).recall(kPartition, Offset(0), &origin("topic 8"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::drift);
  EXPECT_THAT(refused.error().message(),
              AllOf(HasSubstr("topic 7"), HasSubstr("topic 8"), HasSubstr("another prefix")));
  const auto unnamed = ObjectWriter(run("c")).recall(kPartition, Offset(0), &origin(""));
  ASSERT_FALSE(unnamed);
  EXPECT_THAT(unnamed.error().message(), HasSubstr("what its offsets count"));
}

TEST_F(CommitBookTest, K21_FilesToldApartOtherwiseAreRefusedWhileSomeAreOpen) {
  die("a", /*behind_the_put=*/true);
  const auto refused = ObjectWriter(run("b", "the hour")).recall(kPartition, Offset(0), &origin());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::config);
  EXPECT_THAT(refused.error().message(), HasSubstr("rotate_on"));
  auto shared = run("c");
  {
    ObjectWriter writer(shared);
    ASSERT_TRUE(writer.recall(kPartition, Offset(0), &origin()));
    shared->commits->settle(std::vector<PartitionWatermark>{{kPartition, Watermark(1000)}});
    faulty_->add({.op = StoreOp::put, .key = ".jsonl", .error = Error::fatal(ErrorCode::permission_denied, "403")});
    SealedBatch next = batch("next", 1, 1000, 1000);
    ASSERT_FALSE(writer.write(next));
    faulty_->clear();
  }
  EXPECT_FALSE(ObjectWriter(run("d", "the hour")).recall(kPartition, Offset(0), &origin())) << "one is not settled";
  ObjectWriter as_before(run("e"));
  ASSERT_TRUE(as_before.recall(kPartition, Offset(0), &origin()));
  SealedBatch again = batch("next", 1, 1000, 1000);
  ASSERT_TRUE(as_before.write(again));
}

// What the source has committed is settled, though its last note says otherwise and readers have moved the file away.
TEST_F(CommitBookTest, WhatTheSourceHasCommittedIsSettledWithoutALook) {
  die("a", /*behind_the_put=*/true);
  ASSERT_TRUE(memory_->remove(kKey));
  const std::size_t looks = memory_->count(StoreOp::head);
  ObjectWriter writer(run("b", "the hour"));
  const auto recall = writer.recall(kPartition, Offset(1000), &origin());
  ASSERT_TRUE(recall) << "and rotate_on may be changed: " << recall.error().message();
  EXPECT_EQ(memory_->count(StoreOp::head), looks);
  EXPECT_EQ(recall->floor, Offset(1000));
  EXPECT_TRUE(recall->durable.empty() && recall->unsettled.empty());
  SealedBatch next = batch("next", 0, 1000, 1001);
  EXPECT_TRUE(writer.write(next));
}

TEST_F(CommitBookTest, K02_ARetryOfARunThatWasOvertakenDoesNotWrite) {
  ObjectWriter earlier(run("a"));
  ASSERT_TRUE(earlier.recall(kPartition, Offset(0), &origin()));
  faulty_->add({.op = StoreOp::put, .key = ".jsonl", .error = unavailable()});
  SealedBatch sealed = batch("once");
  ASSERT_FALSE(earlier.write(sealed));
  ObjectWriter later(run("b"));
  ASSERT_TRUE(later.recall(kPartition, Offset(0), &origin()));
  const auto refused = earlier.write(sealed);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::fenced);
  EXPECT_EQ(objects(), 0U);
}

TEST_F(CommitBookTest, ADamagedRecordIsNotWrittenOver) {
  memory_->set(kRecord, R"({"schema": 1, "floor": "x"})");
  const auto refused = ObjectWriter(run("a")).recall(kPartition, Offset(0), &origin());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::manifest);
  EXPECT_THAT(refused.error().message(), HasSubstr("commits-"));
}

TEST_F(CommitBookTest, AStoreThatRefusesEveryReplacementIsNamed) {
  ObjectWriter writer(run("a"));
  ASSERT_TRUE(writer.recall(kPartition, Offset(0), &origin()));
  faulty_->add({.op = StoreOp::put, .key = "commits-", .error = Error::fatal(ErrorCode::precondition_failed, "412")});
  SealedBatch sealed = batch("one");
  const auto refused = writer.write(sealed);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("does not keep the condition"));
  EXPECT_EQ(objects(), 0U);
}

TEST_F(CommitBookTest, ARunThatSavesBehindTheLookIsLookedAtAgain) {
  const auto other = run("other");
  faulty_->add({.op = StoreOp::put, .key = "commits-", .before = [&] {
                  auto plain = upload(IfExists::verify, memory_);
                  plain->commits = other->commits;
                  ASSERT_TRUE(ObjectWriter(plain).recall(kPartition, Offset(0), &origin()));
                }});
  ObjectWriter writer(run("a"));
  const auto raced = writer.recall(kPartition, Offset(0), &origin());
  ASSERT_FALSE(raced);
  EXPECT_TRUE(raced.error().is_retryable());
  EXPECT_TRUE(writer.recall(kPartition, Offset(0), &origin()));
}

TEST_F(CommitBookTest, ANoteOfAnotherTopicIsRefused) {
  CommitRecord strange;
  strange.stream = "application_logs";
  strange.topic = "errors";
  strange.lineage = "topic 7";
  memory_->set(kRecord, to_json(strange));
  const auto refused = ObjectWriter(run("a")).recall(kPartition, Offset(0), &origin());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::manifest);
  EXPECT_THAT(refused.error().message(), AllOf(HasSubstr("errors"), HasSubstr("api_requests")));
}

// Another compression library, say: the same records, the same key, other bytes.
TEST_F(CommitBookTest, TheSameFileWithOtherBytesIsSaid) {
  die("a", /*behind_the_put=*/false);
  ObjectWriter writer(run("b"));
  ASSERT_TRUE(writer.recall(kPartition, Offset(0), &origin()));
  SealedBatch other = batch("otherwise packed");
  const auto refused = writer.write(other);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), AllOf(HasSubstr("other bytes"), HasSubstr("compression library")));
  EXPECT_EQ(objects(), 0U);
}

// Two saves of one state must not have one ETag, or a lost answer could not be told from a refusal.
TEST_F(CommitBookTest, NoTwoSavesAreTheSameBytes) {
  ASSERT_TRUE(ObjectWriter(run("a")).recall(kPartition, Offset(0), &origin()));
  const std::string first = memory_->contents().at(kRecord);
  ASSERT_TRUE(ObjectWriter(run("a")).recall(kPartition, Offset(0), &origin()));
  EXPECT_NE(memory_->contents().at(kRecord), first);
}

TEST_F(CommitBookTest, ATimeOfArrivalNamesNoFile) {
  ObjectWriter writer(run("a"));
  ASSERT_TRUE(writer.recall(kPartition, Offset(0), &origin()));
  SealedBatch timeless = batch("one", 0, 0, 4, 0, kNoTimestamp);
  const auto refused = writer.write(timeless);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::config);
  EXPECT_THAT(refused.error().message(), AllOf(HasSubstr("offset 0 of partition 0"), HasSubstr("path_template")));
}

TEST(CommitRecord, IsWhatThePageSays) {
  const auto record = parse_commit_record(R"({
    "schema": 1, "stream": "orders", "topic": "input", "partition": 3, "lineage": "l", "files_by": "the hour",
    "writer": "0123", "saves": 17, "floor": 1000,
    "durable": [{"time": 493021, "first": 990, "last": 1999, "key": "out/k.jsonl", "bytes": 10, "checksum": "00000000000000ff"}],
    "unsettled": [{"time": -1, "route": {"base64": "AP8="}, "first": 2000, "last": 2000, "key": "out/l.jsonl", "bytes": 0,
                   "checksum": "0000000000000000"}], "latest": -5})");
  ASSERT_TRUE(record) << record.error().message();
  EXPECT_EQ(record->partition, PartitionId(3));
  EXPECT_EQ(record->floor, Offset(1000));
  EXPECT_EQ(record->latest, -5);
  EXPECT_EQ(record->durable.at(0),
            (CommittedFile{{493021, ""}, Offset(990), Offset(1999), "out/k.jsonl", 10, "00000000000000ff"}));
  EXPECT_EQ(record->unsettled.at(0).series, (FileSeries{-1, std::string("\0\xFF", 2)}));
}

RC_GTEST_PROP(CommitRecord, IsReadAsItWasWritten, ()) {
  CommitRecord record;
  record.stream = *rc::gen::arbitrary<std::string>();
  record.lineage = *rc::gen::arbitrary<std::string>();
  record.writer = "w";
  if (*rc::gen::arbitrary<bool>()) record.latest = *rc::gen::arbitrary<std::int64_t>();
  const auto files = [] {
    std::vector<CommittedFile> all;
    for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
      CommittedFile file;
      if (*rc::gen::arbitrary<bool>()) file.series.bucket = *rc::gen::inRange<std::int64_t>(-1'000'000, 1'000'000);
      file.series.route = *rc::gen::arbitrary<std::string>();
      file.first = Offset(*rc::gen::inRange<std::int64_t>(0, 1000));
      file.last = Offset(*rc::gen::inRange<std::int64_t>(1000, INT64_MAX));
      file.key = *rc::gen::arbitrary<std::string>();
      file.bytes = *rc::gen::inRange<std::uint64_t>(0, INT64_MAX);
      file.checksum = fmt::format("{:016x}", *rc::gen::arbitrary<std::uint64_t>());
      all.push_back(std::move(file));
    }
    return all;
  };
  record.durable = files();
  record.unsettled = files();
  const auto back = parse_commit_record(to_json(record));
  RC_ASSERT(back.has_value());
  RC_ASSERT(*back == record);
}

}  // namespace
}  // namespace millrace::s3_sink
