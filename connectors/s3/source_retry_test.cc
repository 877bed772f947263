// SPDX-License-Identifier: Apache-2.0
// Goal: what was set aside is read again once it is mended, and nothing else, and no record twice. Method: runs over a
// memory store in which a chain refuses lines that say "bad"; the expected records are those that the mended objects
// were made of, and the manifest is read back after each run.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "connectors/s3/source_fixture.h"

namespace millrace::s3_source {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RetryTest : public SourceTest {
 protected:
  /// `lines` lines of object i, the one at `bad` refused; none with a negative one.
  static std::string text(int i, int lines, int bad = -1, std::string_view word = "bad") {
    std::string all;
    for (int line = 0; line < lines; ++line)
      all += line == bad ? fmt::format("{}\n", word) : fmt::format("{}.{}\n", i, line);
    return all;
  }
  BackfillRig& rig(bool retry, std::uint64_t lanes = 1) {
    rig_ = std::make_unique<BackfillRig>(memory);
    rig_->options.lanes = lanes;
    rig_->options.on_object_error = OnObjectError::quarantine;
    rig_->flags.retry_quarantined = retry;
    rig_->flags.take_over = true;
    rig_->refuse = [](std::string_view payload) { return payload == "bad"; };
    return *rig_;
  }
  std::string run(bool retry, std::uint64_t lanes = 1) {
    BackfillRig& one = rig(retry, lanes);
    const std::string ended = message_of(one.run());
    for (const Record& record : one.records) all_.push_back(record.bytes);
    return ended;
  }
  std::vector<std::string> records() const {
    std::vector<std::string> bytes;
    for (const Record& record : rig_->records) bytes.push_back(record.bytes);
    return bytes;
  }
  /// Of all runs, sorted.
  std::vector<std::string> everything() {
    std::ranges::sort(all_);
    return all_;
  }
  static std::vector<std::string> lines(const std::vector<std::pair<int, int>>& objects) {
    std::vector<std::string> all;
    for (const auto& [i, count] : objects) {
      for (int line = 0; line < count; ++line) all.push_back(fmt::format("{}.{}", i, line));
    }
    std::ranges::sort(all);
    return all;
  }
  std::unique_ptr<BackfillRig> rig_;
  std::vector<std::string> all_;
};

TEST_F(RetryTest, ReadsWhatWasSetAsideAndNothingElse) {
  for (const std::uint64_t lanes : {1U, 3U}) {
    memory = std::make_shared<testing::MemoryStore>();
    all_.clear();
    for (int i = 0; i < 6; ++i) memory->set(key(i), text(i, 4, i == 2 ? 1 : i == 4 ? 0 : -1));
    ASSERT_EQ(run(false, lanes), "succeeded");
    ASSERT_EQ(stored().quarantined.size(), 2U);
    const Manifest before = stored();
    // Unmended: nothing comes, and they stay as they are.
    ASSERT_EQ(run(true, lanes), "succeeded");
    EXPECT_THAT(records(), IsEmpty());
    EXPECT_EQ(stored().quarantined, before.quarantined);
    EXPECT_EQ(stored().positions, before.positions);
    EXPECT_EQ(rig_->source().progress().objects_quarantined, 2U);

    memory->set(key(2), text(2, 4));
    memory->set(key(4), text(4, 4));
    memory->clear_requests();
    ASSERT_EQ(run(true, lanes), "succeeded");
    EXPECT_EQ(memory->count(testing::StoreOp::read), 2U) << "of the mended objects only";
    EXPECT_THAT(rig_->by_object().at(key(2)), ElementsAre("2.1", "2.2", "2.3"));
    EXPECT_THAT(rig_->by_object().at(key(4)), ElementsAre("4.0", "4.1", "4.2", "4.3"));
    EXPECT_EQ(everything(), lines({{0, 4}, {1, 4}, {2, 4}, {3, 4}, {4, 4}, {5, 4}}));
    EXPECT_EQ(rig_->source().progress().objects_quarantined, 0U);
    EXPECT_EQ(rig_->source().progress().objects_total, 2U);
    EXPECT_EQ(rig_->source().progress().objects_done, 2U);
    // Named as they would have been.
    EXPECT_TRUE(std::ranges::find(rig_->records, Record{2U % static_cast<std::uint32_t>(lanes),
                                                        static_cast<std::int64_t>(2 / lanes) << 40 | 1, "2.1",
                                                        key(2)}) != rig_->records.end());
    EXPECT_THAT(stored().quarantined, IsEmpty());
    EXPECT_TRUE(stored().complete);
    EXPECT_TRUE(stored().owner.released);

    // The mended versions are those that are committed: nothing has drifted, nothing is left.
    memory->clear_requests();
    ASSERT_EQ(run(false, lanes), "succeeded");
    EXPECT_EQ(memory->count(testing::StoreOp::read), 0U);
    EXPECT_EQ(rig_->log->count("nothing was left to do"), 1U);
    EXPECT_EQ(rig_->log->count("the listing changed"), 0U);
    ASSERT_EQ(run(true, lanes), "succeeded");
    EXPECT_EQ(rig_->log->count("no object is set aside"), 1U);
  }
}

TEST_F(RetryTest, AMendedObjectThatBeginsOtherwiseStays) {
  memory->set(key(0), text(0, 4, 2));
  ASSERT_EQ(run(false), "succeeded");
  memory->set(key(0), "0.0\nother\n0.2\n0.3\n");
  ASSERT_EQ(run(true), "succeeded");
  EXPECT_THAT(records(), IsEmpty());
  ASSERT_EQ(stored().quarantined.size(), 1U);
  EXPECT_EQ(stored().quarantined[0].code, "drift");
  EXPECT_THAT(stored().quarantined[0].reason,
              HasSubstr("its first 2 records, which are written already, are others now"));
  EXPECT_EQ(stored().quarantined[0].records, 2U);
  // Cut before what is written, empty, gone: each says so and stays.
  for (const auto& [bytes, words] :
       {std::pair<const char*, const char*>{"0.0\n", "it has 1 records, and 2 of it are written already"},
        {"", "it is empty now"},
        {nullptr, "it is not listed any more"}}) {
    bytes == nullptr ? memory->erase(key(0)) : memory->set(key(0), bytes);
    ASSERT_EQ(run(true), "succeeded") << words;
    EXPECT_THAT(records(), IsEmpty());
    ASSERT_EQ(stored().quarantined.size(), 1U);
    EXPECT_THAT(stored().quarantined[0].reason, HasSubstr(words));
    EXPECT_EQ(stored().quarantined[0].records, 2U);
  }
  // Where the rest is lost for good: just what is written.
  memory->set(key(0), "0.0\n0.1\n");
  ASSERT_EQ(run(true), "succeeded");
  EXPECT_THAT(stored().quarantined, IsEmpty());
  EXPECT_EQ(everything(), lines({{0, 2}}));
  ASSERT_EQ(run(false), "succeeded");
  EXPECT_EQ(rig_->log->count("nothing was left to do"), 1U);
}

TEST_F(RetryTest, AnObjectOfWhichNothingIsWrittenMayBecomeAnything) {
  memory->set(key(0), text(0, 3, 0));
  memory->set(key(1), text(1, 3, 0));
  memory->set(key(2), text(2, 3));
  ASSERT_EQ(run(false), "succeeded");
  memory->set(key(0), "");
  memory->set(key(1), "quite\nanother\n");
  ASSERT_EQ(run(true), "succeeded");
  EXPECT_THAT(records(), ElementsAre("quite", "another"));
  EXPECT_THAT(stored().quarantined, IsEmpty());
  ASSERT_EQ(run(false), "succeeded");
  EXPECT_EQ(rig_->log->count("nothing was left to do"), 1U);
}

TEST_F(RetryTest, OneThatFailsFurtherOnGoesOnFromThere) {
  memory->set(key(0), text(0, 6, 2));
  ASSERT_EQ(run(false), "succeeded");
  memory->set(key(0), text(0, 6, 4));
  ASSERT_EQ(run(true), "succeeded");
  EXPECT_THAT(records(), ElementsAre("0.2", "0.3"));
  ASSERT_EQ(stored().quarantined.size(), 1U);
  EXPECT_EQ(stored().quarantined[0].records, 4U);
  EXPECT_FALSE(stored().quarantined[0].retry);
  memory->set(key(0), text(0, 6));
  ASSERT_EQ(run(true), "succeeded");
  EXPECT_THAT(records(), ElementsAre("0.4", "0.5"));
  EXPECT_EQ(everything(), lines({{0, 6}}));
  EXPECT_THAT(stored().quarantined, IsEmpty());
}

TEST_F(RetryTest, INV1_AKilledRetryGoesOnWhereItWasCommitted) {
  memory->set(key(0), text(0, 8, 2));
  memory->set(key(1), text(1, 3));
  ASSERT_EQ(run(false), "succeeded");
  memory->set(key(0), text(0, 8));
  rig(true).max_records = 1;
  ASSERT_TRUE(rig_->open());
  ASSERT_TRUE(rig_->poll_records(3));
  ASSERT_TRUE(rig_->commit());
  for (const Record& record : rig_->records) all_.push_back(record.bytes);
  const Manifest midway = stored();
  EXPECT_TRUE(midway.complete);
  EXPECT_FALSE(midway.owner.released) << "a retry keeps the manifest like any run";
  ASSERT_EQ(midway.quarantined.size(), 1U);
  EXPECT_EQ(midway.quarantined[0].records, 2U);
  ASSERT_TRUE(midway.quarantined[0].retry);
  EXPECT_EQ(midway.quarantined[0].retry->records, 5U);
  rig_->kill();

  // Another version is proven by the first two records only, so that what came in between comes again.
  memory->set(key(0), text(0, 8) + "more\n");
  BackfillRig& other = rig(true);
  ASSERT_TRUE(other.open());
  ASSERT_TRUE(other.poll_records(1));
  EXPECT_EQ(other.records[0].bytes, "0.2");
  other.kill();

  memory->set(key(0), text(0, 8));  // the same bytes have the same ETag
  ASSERT_EQ(run(true), "succeeded");
  EXPECT_THAT(records(), ElementsAre("0.5", "0.6", "0.7"));
  EXPECT_THAT(stored().quarantined, IsEmpty());
  EXPECT_EQ(everything(), lines({{0, 8}, {1, 3}}));
}

TEST_F(RetryTest, WithoutQuarantineTheFirstThatFailsAgainEndsTheRun) {
  memory->set(key(0), text(0, 4, 2));
  memory->set(key(1), text(1, 4, 1));
  ASSERT_EQ(run(false), "succeeded");
  memory->set(key(0), text(0, 4));
  memory->set(key(1), "else\n");
  rig(true).options.on_object_error = OnObjectError::fail;
  const auto ended = rig_->run();
  ASSERT_FALSE(ended);
  EXPECT_THAT(message_of(ended), HasSubstr("are others now"));
  rig_->close();
  EXPECT_THAT(records(), ElementsAre("0.2", "0.3"));
  memory->set(key(1), text(1, 4));
  ASSERT_EQ(run(true), "succeeded");
  EXPECT_THAT(stored().quarantined, IsEmpty());
}

TEST_F(RetryTest, NeedsAFinishedBackfill) {
  EXPECT_THAT(run(true), HasSubstr("there is none, so no object is set aside"));
  memory->set(key(0), text(0, 4, 2));
  memory->set(key(1), text(1, 4));
  rig(false).max_records = 1;
  ASSERT_TRUE(rig_->open());
  ASSERT_TRUE(rig_->poll_records(3));
  ASSERT_TRUE(rig_->commit());
  rig_->kill();
  EXPECT_THAT(run(true), HasSubstr("run it to its end without --retry-quarantined first"));
  ASSERT_EQ(run(false), "succeeded");
  ASSERT_EQ(stored().quarantined.size(), 1U);
  memory->set(key(2), text(2, 1));
  EXPECT_THAT(run(true), HasSubstr("run it to its end without --retry-quarantined first"));
}

TEST_F(RetryTest, EachShardRetriesItsOwn) {
  for (int i = 0; i < 12; ++i) memory->set(key(i), text(i, 3, 1));
  const auto run_shard = [&](std::uint64_t index, bool retry) {
    rig(retry).options.shard = S3SourceOptions::Shard{index, 2};
    const std::string ended = message_of(rig_->run());
    for (const Record& record : rig_->records) all_.push_back(record.bytes);
    return ended;
  };
  const auto manifest_of = [&](int index) {
    return *parse_manifest(memory->contents().at(fmt::format("ck/manifest.shard-{}-of-2.json", index)));
  };
  ASSERT_EQ(run_shard(0, false), "succeeded");
  ASSERT_EQ(run_shard(1, false), "succeeded");
  const std::size_t other = manifest_of(1).quarantined.size();
  ASSERT_EQ(manifest_of(0).quarantined.size() + other, 12U);
  for (int i = 0; i < 12; ++i) memory->set(key(i), text(i, 3));
  ASSERT_EQ(run_shard(0, true), "succeeded");
  EXPECT_THAT(manifest_of(0).quarantined, IsEmpty());
  EXPECT_EQ(manifest_of(1).quarantined.size(), other);
  ASSERT_EQ(run_shard(1, true), "succeeded");
  EXPECT_THAT(manifest_of(1).quarantined, IsEmpty());
  std::vector<std::pair<int, int>> objects;
  for (int i = 0; i < 12; ++i) objects.emplace_back(i, 3);
  EXPECT_EQ(everything(), lines(objects));
  // Both saw the same objects in the end.
  ASSERT_EQ(run_shard(0, false), "succeeded");
  EXPECT_EQ(manifest_of(0).whole, manifest_of(1).whole);
}

// A commit between the fault and the end of what was framed: the watermark lies behind the records that are delivered,
// inside an object of which nothing more comes.
TEST_F(RetryTest, INV6_ACommitInsideAnObjectThatFailedAgainIsItsEndInTheReceiptToo) {
  memory->set(key(0), text(0, 8, 2));
  memory->set(key(1), text(1, 8, 2));
  const auto with_receipt = [&](bool retry) -> BackfillRig& {
    rig(retry).options.receipt.url = "s3://b/receipts/r.ndjson";
    return *rig_;
  };
  ASSERT_EQ(message_of(with_receipt(false).run()), "succeeded");
  memory->set(key(0), text(0, 8, 4));
  BackfillRig& killed = with_receipt(true);
  killed.max_records = 3;
  ASSERT_TRUE(killed.open());
  ASSERT_TRUE(killed.poll_records(2));
  EXPECT_THAT(records(), ElementsAre("0.2", "0.3"));
  ASSERT_TRUE(killed.commit());
  EXPECT_EQ(killed.committed.at(0), 6) << "what was framed";
  ASSERT_EQ(stored().quarantined.size(), 2U);
  EXPECT_EQ(stored().quarantined[0].records, 4U);
  EXPECT_FALSE(stored().quarantined[0].retry);
  killed.kill();

  memory->set(key(0), text(0, 8));
  memory->set(key(1), text(1, 8));
  ASSERT_EQ(message_of(with_receipt(true).run()), "succeeded");
  EXPECT_THAT(records(), ElementsAre("0.4", "0.5", "0.6", "0.7", "1.2", "1.3", "1.4", "1.5", "1.6", "1.7"));
  EXPECT_THAT(stored().quarantined, IsEmpty());
  const std::string receipt = memory->contents().at("receipts/r.ndjson");
  EXPECT_THAT(receipt, HasSubstr("\"objects\":{\"listed\":2,\"read\":2,\"empty\":0,\"left_out\":0,\"quarantined\":0}"));
  for (const int i : {0, 1}) {
    const std::size_t line = receipt.find(key(i));
    EXPECT_THAT(receipt.substr(line, receipt.find('\n', line) - line), HasSubstr("\"records\":8,\"out\":8")) << receipt;
  }
}

// A run that comes between, the hourly one for instance, forgets nothing of a retry that was stopped.
TEST_F(RetryTest, INV1_ARunBetweenTwoRetriesTakesNothingBack) {
  memory->set(key(0), text(0, 8, 2));
  const auto with_receipt = [&](bool retry) -> BackfillRig& {
    rig(retry).options.receipt.url = "s3://b/receipts/r.ndjson";
    return *rig_;
  };
  ASSERT_EQ(message_of(with_receipt(false).run()), "succeeded");
  memory->set(key(0), text(0, 8));
  BackfillRig& stopped = with_receipt(true);
  stopped.max_records = 1;
  ASSERT_TRUE(stopped.open());
  ASSERT_TRUE(stopped.poll_records(3));
  ASSERT_TRUE(stopped.commit());
  EXPECT_THAT(records(), ElementsAre("0.2", "0.3", "0.4"));
  stopped.kill();

  ASSERT_EQ(message_of(with_receipt(false).run()), "succeeded");
  EXPECT_THAT(records(), IsEmpty());
  ASSERT_EQ(stored().quarantined.size(), 1U);
  ASSERT_TRUE(stored().quarantined[0].retry);
  EXPECT_EQ(stored().quarantined[0].retry->records, 5U);

  ASSERT_EQ(message_of(with_receipt(true).run()), "succeeded");
  EXPECT_THAT(records(), ElementsAre("0.5", "0.6", "0.7"));
  EXPECT_THAT(stored().quarantined, IsEmpty());
  const std::string receipt = memory->contents().at("receipts/r.ndjson");
  EXPECT_THAT(receipt, HasSubstr("\"records\":8,\"out\":8"));
}

// What a row says depends on the header: the same rows under other names are other records.
TEST_F(RetryTest, RowsUnderAnotherHeaderAreOthers) {
  const auto csv = [&](bool retry) {
    rig(retry).options.format = "csv";
    return message_of(rig_->run());
  };
  memory->set(key(0), "id,name\n1,a\n2,b\nbad\n4,d\n");
  ASSERT_EQ(csv(false), "succeeded");
  ASSERT_EQ(stored().quarantined.size(), 1U);
  ASSERT_EQ(stored().quarantined[0].records, 2U);
  memory->set(key(0), "name,id\n1,a\n2,b\n3,c\n4,d\n");
  ASSERT_EQ(csv(true), "succeeded");
  EXPECT_THAT(records(), IsEmpty());
  ASSERT_EQ(stored().quarantined.size(), 1U);
  memory->set(key(0), "id,name\n1,a\n2,b\n3,c\n4,d\n");
  ASSERT_EQ(csv(true), "succeeded");
  EXPECT_THAT(records(), ElementsAre("3,c", "4,d"));
  EXPECT_THAT(stored().quarantined, IsEmpty());
}

// Records that were committed and could not be counted off when the object was set aside: nothing but the same ETag
// proves that they are the same.
TEST_F(RetryTest, RecordsThatCouldNotBeReadAgainNeedTheSameVersion) {
  memory->set(key(0), text(0, 6));
  rig(false);
  ASSERT_TRUE(rig_->commit_and_die(2));
  for (const Record& record : rig_->records) all_.push_back(record.bytes);
  rig(false).store->add({.op = testing::StoreOp::read,
                         .times = testing::Fault::kAlways,
                         .error = Error::fatal(ErrorCode::not_found, "404")});
  ASSERT_EQ(message_of(rig_->run()), "succeeded");
  ASSERT_EQ(stored().quarantined.size(), 1U);
  EXPECT_EQ(stored().quarantined[0].records, 2U);
  EXPECT_EQ(stored().quarantined[0].records_hash, kHashUnknown);
  // It begins with the same two, and nobody can tell.
  memory->set(key(0), text(0, 7));
  memory->clear_requests();
  ASSERT_EQ(run(true), "succeeded");
  EXPECT_THAT(records(), IsEmpty());
  ASSERT_EQ(stored().quarantined.size(), 1U);
  EXPECT_EQ(stored().quarantined[0].records_hash, kHashUnknown);
  EXPECT_THAT(stored().quarantined[0].reason, HasSubstr("only the same ETag"));
  memory->set(key(0), text(0, 6));
  ASSERT_EQ(run(true), "succeeded");
  EXPECT_THAT(records(), ElementsAre("0.2", "0.3", "0.4", "0.5"));
  EXPECT_EQ(everything(), lines({{0, 6}}));
  EXPECT_THAT(stored().quarantined, IsEmpty());
}

// on_archived: skip leaves out what was never read; what is set aside stays set aside.
TEST_F(RetryTest, E08_AnObjectThatIsArchivedNowStaysSetAside) {
  memory->set(key(0), text(0, 4, 2));
  memory->set(key(1), text(1, 4, 0));
  ASSERT_EQ(run(false), "succeeded");
  memory->set(key(0), text(0, 4));
  memory->set(key(1), text(1, 4), {.storage_class = "GLACIER"});
  rig(true).options.on_archived = OnArchived::skip;
  rig_->store->add({.op = testing::StoreOp::read,
                    .key = key(1),
                    .times = testing::Fault::kAlways,
                    .error = Error::fatal(ErrorCode::not_supported, "403 InvalidObjectState")});
  ASSERT_EQ(message_of(rig_->run()), "succeeded");
  EXPECT_THAT(records(), ElementsAre("0.2", "0.3"));
  ASSERT_EQ(stored().quarantined.size(), 1U);
  EXPECT_EQ(stored().quarantined[0].key, key(1));
  EXPECT_THAT(stored().quarantined[0].reason, HasSubstr("it is archived now; restore it, then retry"));
  EXPECT_EQ(stored().skipped.count, 0U);
}

// Ten kills at places that a seed picks, with acks that are held back in part: nothing is lost, and what is committed
// does not come again.
TEST_F(RetryTest, INV1_NoKillLosesARecord) {
  std::uint64_t seed = 7;
  const auto pick = [&](std::uint64_t below) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    return (seed >> 33U) % below;
  };
  std::vector<std::pair<int, int>> objects;
  for (int i = 0; i < 9; ++i) {
    objects.emplace_back(i, 5 + static_cast<int>(pick(20)));
    memory->set(key(i), text(i, objects[i].second, i % 3 == 1 ? -1 : static_cast<int>(pick(5))));
  }
  ASSERT_EQ(run(false, 2), "succeeded");
  for (int i = 0; i < 9; ++i) memory->set(key(i), text(i, objects[i].second));
  std::map<std::int64_t, std::string> committed;  // by lane and offset
  std::vector<std::string> delivered = all_;
  for (int kill = 0; kill < 10; ++kill) {
    BackfillRig& one = rig(true, 2);
    one.max_records = 1 + pick(3);
    one.hold_acks = true;
    ASSERT_TRUE(one.open());
    ASSERT_TRUE(one.poll_records(1 + pick(6)));
    for (std::size_t lane = 0; lane < 2; ++lane) one.acknowledge(lane, pick(one.held(lane) + 1));
    ASSERT_TRUE(one.commit());
    for (const Record& record : one.records) {
      const auto watermark = one.committed.find(record.lane);
      if (watermark == one.committed.end() || record.offset >= watermark->second) continue;
      delivered.push_back(record.bytes);
    }
    one.kill();
  }
  BackfillRig& last = rig(true, 2);
  ASSERT_EQ(message_of(last.run()), "succeeded");
  for (const Record& record : last.records) delivered.push_back(record.bytes);
  std::ranges::sort(delivered);
  EXPECT_EQ(delivered, lines(objects));
  EXPECT_THAT(stored().quarantined, IsEmpty());
  ASSERT_EQ(run(false, 2), "succeeded");
  EXPECT_EQ(rig_->log->count("nothing was left to do"), 1U);
}

}  // namespace
}  // namespace millrace::s3_source
