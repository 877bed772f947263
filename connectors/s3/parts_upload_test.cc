// SPDX-License-Identifier: Apache-2.0
// Large objects in parts: what is sent, what a retry sends again, and what is left behind. The parts of 11 MiB in fives
// are counted by hand: 5, 5 and 1.
#include "connectors/s3/parts_upload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "connectors/s3/writer_fixture.h"

namespace millrace::s3_sink {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr std::size_t kMiB = std::size_t{1} << 20U;
const std::string kLedger = "out/_millrace/events/uploads-" +
                            UploadLedger::slot_of("application_logs", "api_requests", PartitionId(0)) + ".json";

class PartsUploadTest : public S3WriterTest {
 protected:
  PartsUploadTest() {
    for (std::size_t i = 0; i < body_.size(); i += 4096) body_[i] = static_cast<char>('a' + i / 4096 % 26);
  }
  std::shared_ptr<Upload> in_parts(IfExists if_exists = IfExists::verify) {
    auto made = upload(if_exists);
    made->as.multipart_threshold = 8 * kMiB;
    made->as.part_bytes = 5 * kMiB;
    made->ledger = std::make_shared<UploadLedger>(made->store, "out/_millrace/events/", Logger());
    return made;
  }
  /// Sizes of the parts that were sent, in order.
  std::vector<std::uint64_t> sent() const {
    std::vector<std::uint64_t> sizes;
    for (const auto& request : memory_->requests()) {
      if (request.op == StoreOp::put_part) sizes.push_back(request.size);
    }
    return sizes;
  }
  std::string body_ = std::string(11 * kMiB, '.');
};

TEST_F(PartsUploadTest, J03_EqualPartsAndAShorterLast) {
  ObjectWriter writer(in_parts());
  SealedBatch sealed = batch(body_);
  const auto written = writer.write(sealed);
  ASSERT_TRUE(written) << written.error().describe();
  EXPECT_EQ(written->bytes_written, 11 * kMiB);
  EXPECT_EQ(memory_->contents().at(kKey), body_);
  EXPECT_THAT(sent(), ElementsAre(5 * kMiB, 5 * kMiB, kMiB));
  EXPECT_THAT(memory_->open_uploads(), IsEmpty());
  EXPECT_EQ(memory_->count(StoreOp::complete_upload), 1U);
  EXPECT_EQ(memory_->asked(kKey)->content_type, "application/x-ndjson");
  EXPECT_THAT(memory_->head(kKey)->metadata, ElementsAre(Pair("millrace-xxh3", checksum(body_))));
}

TEST_F(PartsUploadTest, WhatIsNotLargerGoesInOneRequest) {
  ObjectWriter writer(in_parts());
  SealedBatch sealed = batch(body_.substr(0, 8 * kMiB));
  ASSERT_TRUE(writer.write(sealed));
  EXPECT_EQ(memory_->requests().size(), 1U);
}

TEST_F(PartsUploadTest, ARetrySendsWhatIsMissing) {
  faulty_->add({.op = StoreOp::put_part, .nth = 2, .times = 2, .error = unavailable()});
  faulty_->add({.op = StoreOp::complete_upload, .error = unavailable()});
  ObjectWriter writer(in_parts());
  SealedBatch sealed = batch(body_);
  EXPECT_FALSE(writer.write(sealed));
  EXPECT_FALSE(writer.write(sealed));
  EXPECT_FALSE(writer.write(sealed)) << "the completion";
  ASSERT_TRUE(writer.write(sealed));
  EXPECT_THAT(sent(), ElementsAre(5 * kMiB, 5 * kMiB, kMiB));
  EXPECT_EQ(memory_->count(StoreOp::begin_upload), 1U);
  EXPECT_EQ(memory_->contents().at(kKey), body_);
}

// J06: by a rule of the bucket, in the middle and right before the end.
TEST_F(PartsUploadTest, J06_AnUploadThatIsGoneBeginsAgain) {
  for (const StoreOp op : {StoreOp::put_part, StoreOp::complete_upload}) {
    memory_ = std::make_shared<MemoryStore>();
    faulty_ = std::make_shared<FaultyStore>(memory_);
    faulty_->add({.op = op, .before = [this] { EXPECT_EQ(memory_->end_uploads(), 1U); }});
    ObjectWriter writer(in_parts());
    SealedBatch sealed = batch(body_);
    const auto gone = writer.write(sealed);
    ASSERT_FALSE(gone);
    EXPECT_TRUE(gone.error().is_retryable());
    EXPECT_THAT(gone.error().message(), HasSubstr("begun again"));
    ASSERT_TRUE(writer.write(sealed));
    EXPECT_EQ(memory_->contents().at(kKey), body_);
    EXPECT_THAT(memory_->open_uploads(), IsEmpty());
  }
}

TEST_F(PartsUploadTest, J06_ACompletionWhoseAnswerIsLost) {
  for (const IfExists mode : {IfExists::verify, IfExists::overwrite, IfExists::fail}) {
    memory_ = std::make_shared<MemoryStore>();
    faulty_ = std::make_shared<FaultyStore>(memory_);
    faulty_->add({.op = StoreOp::complete_upload, .error = unavailable(), .done_anyway = true});
    ObjectWriter writer(in_parts(mode));
    SealedBatch sealed = batch(body_);
    EXPECT_FALSE(writer.write(sealed));
    const auto again = writer.write(sealed);
    EXPECT_TRUE(again) << again.error().describe();
    EXPECT_EQ(memory_->count(StoreOp::begin_upload), 1U) << "nothing is sent twice";
    EXPECT_EQ(memory_->contents().at(kKey), body_);
  }
}

TEST_F(PartsUploadTest, AFailureThatStaysAbortsTheUpload) {
  faulty_->add({.op = StoreOp::put_part, .nth = 3, .error = Error::fatal(ErrorCode::permission_denied, "403")});
  ObjectWriter writer(in_parts());
  SealedBatch sealed = batch(body_);
  const auto refused = writer.write(sealed);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().is_fatal());
  EXPECT_THAT(memory_->open_uploads(), IsEmpty());
  EXPECT_EQ(memory_->count(StoreOp::abort_upload), 1U);
}

TEST_F(PartsUploadTest, ABatchThatIsGivenUpLeavesNoUpload) {
  faulty_->add({.op = StoreOp::put_part, .nth = 2, .error = unavailable()});
  ObjectWriter writer(in_parts());
  SealedBatch given_up = batch(body_, 0, 0, 9);
  SealedBatch next = batch("small", 1, 10, 19);
  EXPECT_FALSE(writer.write(given_up));
  EXPECT_THAT(memory_->open_uploads(), SizeIs(1));
  EXPECT_TRUE(writer.write(next));
  EXPECT_THAT(memory_->open_uploads(), IsEmpty());
  faulty_->add({.op = StoreOp::put_part, .error = unavailable()});
  SealedBatch last = batch(body_, 2, 20, 29);
  EXPECT_FALSE(writer.write(last));
  EXPECT_TRUE(writer.close(SteadyTime::max()));
  EXPECT_THAT(memory_->open_uploads(), IsEmpty());
}

// Nothing is sent to learn that the key is taken.
TEST_F(PartsUploadTest, ATakenKeyIsLookedAtFirst) {
  ObjectWriter writer(in_parts());
  SealedBatch sealed = batch(body_);
  ASSERT_TRUE(writer.write(sealed));
  memory_->clear_requests();
  EXPECT_TRUE(ObjectWriter(in_parts()).write(sealed)) << "a replay finds its own bytes";
  EXPECT_THAT(sent(), IsEmpty());
  SealedBatch other = batch(body_ + "more");
  const auto refused = ObjectWriter(in_parts()).write(other);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::already_exists);
  EXPECT_THAT(sent(), IsEmpty());
}

// Somebody else writes the key while the parts are sent: a completion that creates only is refused.
TEST_F(PartsUploadTest, K02_AnObjectThatAppearsMeanwhileStays) {
  faulty_->add({.op = StoreOp::complete_upload, .before = [this] { memory_->set(kKey, "theirs"); }});
  ObjectWriter writer(in_parts());
  SealedBatch sealed = batch(body_);
  const auto refused = writer.write(sealed);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::already_exists);
  EXPECT_EQ(memory_->contents().at(kKey), "theirs");
  EXPECT_THAT(memory_->open_uploads(), IsEmpty());
}

TEST_F(PartsUploadTest, J08_AStoreWithoutUploadsGetsOneRequest) {
  faulty_->add({.op = StoreOp::begin_upload,
                .times = Fault::kAlways,
                .error = Error::fatal(ErrorCode::not_supported, "501 NotImplemented")});
  const auto shared = in_parts();
  ObjectWriter writer(shared);
  for (std::int64_t i = 0; i < 2; ++i) {
    SealedBatch sealed = batch(body_, static_cast<std::uint64_t>(i), i * 10, i * 10 + 9);
    const auto written = writer.write(sealed);
    ASSERT_TRUE(written) << written.error().describe();
  }
  EXPECT_EQ(faulty_->hits(), 1U) << "asked once";
  EXPECT_TRUE(shared->conditions.load()) << "it does know conditions";
  EXPECT_THAT(memory_->contents(), SizeIs(2));
}

// A crash in the middle: the next run ends what it finds noted, before it sends anything of the partition.
TEST_F(PartsUploadTest, J06_WhatACrashLeavesIsAbortedByTheNextRun) {
  {
    faulty_->add({.op = StoreOp::put_part, .nth = 2, .error = unavailable()});
    ObjectWriter writer(in_parts());
    SealedBatch sealed = batch(body_);
    EXPECT_FALSE(writer.write(sealed));
  }
  ASSERT_THAT(memory_->open_uploads(), SizeIs(1));
  EXPECT_TRUE(memory_->contents().contains(kLedger));
  const auto shared = in_parts();
  shared->expects_parts = true;
  ObjectWriter next(shared);
  SealedBatch small = batch("small");
  ASSERT_TRUE(next.write(small));
  EXPECT_THAT(memory_->open_uploads(), IsEmpty());
  EXPECT_EQ(memory_->count(StoreOp::list_uploads), 0U) << "nobody's uploads are listed";
}

TEST_F(PartsUploadTest, J06_ACrashedUploadOfTheSamePartitionIsEndedBeforeTheNext) {
  {
    faulty_->add({.op = StoreOp::put_part, .nth = 2, .error = unavailable()});
    ObjectWriter writer(in_parts());
    SealedBatch sealed = batch(body_);
    EXPECT_FALSE(writer.write(sealed));
  }
  ObjectWriter next(in_parts());
  SealedBatch sealed = batch(body_);
  ASSERT_TRUE(next.write(sealed));
  EXPECT_THAT(memory_->open_uploads(), IsEmpty());
  EXPECT_EQ(memory_->contents().at(kKey), body_);
}

// Where the note cannot be read, a retry may help, or it is said once and the run goes on.
TEST_F(PartsUploadTest, ALedgerThatCannotBeRead) {
  const auto shared = in_parts();
  shared->expects_parts = true;
  faulty_->add({.op = StoreOp::get, .error = unavailable()});
  ObjectWriter writer(shared);
  SealedBatch sealed = batch("small");
  EXPECT_FALSE(writer.write(sealed));
  EXPECT_TRUE(writer.write(sealed));
  faulty_->add(
      {.op = StoreOp::get, .times = Fault::kAlways, .error = Error::fatal(ErrorCode::permission_denied, "403")});
  const auto forbidden = in_parts();
  forbidden->expects_parts = true;
  SealedBatch other = batch("small", 0, 5, 6);
  EXPECT_TRUE(ObjectWriter(forbidden).write(other));
}

}  // namespace
}  // namespace millrace::s3_sink
