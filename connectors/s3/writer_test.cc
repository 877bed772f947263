// SPDX-License-Identifier: Apache-2.0
// One batch, one object: what is written, under which name, and what an error leaves behind.
#include "connectors/s3/writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <xxhash.h>

#include <cstdlib>
#include <filesystem>

#include "connectors/s3/writer_fixture.h"
#include "store/file/file_store.h"

namespace millrace::s3_sink {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

TEST_F(S3WriterTest, OnePutPerObjectUnderTheSeedsName) {
  ObjectWriter writer(upload(IfExists::verify));
  SealedBatch sealed = batch("{\"a\":1}\n");
  const auto receipt = writer.write(sealed);
  ASSERT_TRUE(receipt) << receipt.error().describe();
  EXPECT_EQ(receipt->location, std::string("s3://b/") + kKey);
  EXPECT_EQ(receipt->bytes_written, 8U);
  EXPECT_THAT(memory_->contents(), ElementsAre(Pair(kKey, "{\"a\":1}\n")));
  const auto requests = memory_->requests();
  ASSERT_EQ(requests.size(), 1U) << "J08: nothing but one PUT";
  EXPECT_EQ(requests[0].op, StoreOp::put);
  EXPECT_EQ(requests[0].condition, PutCondition::if_absent);
  // The checksum by another way of calling the library, in the spelling of printf.
  char expected[17];
  std::snprintf(expected, sizeof expected, "%016llx",
                static_cast<unsigned long long>(XXH3_64bits_withSeed("{\"a\":1}\n", 8, 0)));
  EXPECT_THAT(memory_->head(kKey)->metadata, ElementsAre(Pair("millrace-xxh3", expected)));
}

// J08: a role that may put and nothing else.
TEST_F(S3WriterTest, J08_PutIsAllThatIsNeeded) {
  for (const StoreOp op : {StoreOp::list, StoreOp::read, StoreOp::get, StoreOp::head, StoreOp::remove}) {
    faulty_->add({.op = op, .times = Fault::kAlways, .error = Error::fatal(ErrorCode::permission_denied, "403")});
  }
  ObjectWriter writer(upload(IfExists::verify));
  for (std::uint64_t i = 0; i < 5; ++i) {
    SealedBatch sealed = batch("x", i, static_cast<std::int64_t>(i), static_cast<std::int64_t>(i));
    EXPECT_TRUE(writer.write(sealed));
  }
  EXPECT_EQ(faulty_->hits(), 0U);
  EXPECT_EQ(memory_->count(StoreOp::put), 5U);
}

// K01: what the store has not taken is an error, and the batch is what it was, to be tried again.
TEST_F(S3WriterTest, K01_AFailedPutLeavesTheBatchAlone) {
  faulty_->add({.op = StoreOp::put, .times = 3, .error = unavailable()});
  const auto shared = upload(IfExists::verify);
  ObjectWriter writer(shared);
  SealedBatch sealed = batch("hello\n");
  for (int i = 0; i < 3; ++i) {
    const auto written = writer.write(sealed);
    ASSERT_FALSE(written);
    EXPECT_TRUE(written.error().is_retryable());
    EXPECT_THAT(written.error().message(), AllOf(HasSubstr(kKey), HasSubstr("503 SlowDown")));
    EXPECT_EQ(shared->objects.value(), 0U) << "K22";
    EXPECT_EQ(sealed.chunk.bytes.view(), "hello\n");
  }
  EXPECT_TRUE(memory_->contents().empty());
  EXPECT_TRUE(writer.write(sealed));
  EXPECT_THAT(memory_->contents(), ElementsAre(Pair(kKey, "hello\n")));
  EXPECT_EQ(shared->objects.value(), 1U);
  EXPECT_EQ(shared->bytes.value(), 6U);
}

// K02: one instance has written 0 to 30, another still holds 0 to 20.
TEST_F(S3WriterTest, K02_TheSameStartWithAnotherEndIsAnotherKey) {
  ObjectWriter a(upload(IfExists::verify));
  ObjectWriter b(upload(IfExists::verify));
  SealedBatch longer = batch("0 to 30", 0, 0, 30);
  SealedBatch shorter = batch("0 to 20", 0, 0, 20);
  ASSERT_TRUE(a.write(longer));
  ASSERT_TRUE(b.write(shorter));
  EXPECT_EQ(memory_->contents().size(), 2U);
  SealedBatch changed = batch("0 to 30, but otherwise", 0, 0, 30);
  const auto refused = b.write(changed);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().is_fatal());
  EXPECT_EQ(refused.error().code(), ErrorCode::already_exists);
  EXPECT_THAT(refused.error().message(),
              AllOf(HasSubstr("it has 7 bytes, ours has 22"), HasSubstr("nothing was overwritten")));
  EXPECT_EQ(memory_->contents().begin()->second, "0 to 20");
  EXPECT_EQ(memory_->contents().rbegin()->second, "0 to 30");
}

// K12: no key is ever written twice, by three flushes in one second, two instances, or a restart in the same hour.
TEST_F(S3WriterTest, K12_NothingIsEverOverwritten) {
  for (int instance = 0; instance < 2; ++instance) {
    ObjectWriter writer(upload(IfExists::verify));
    for (std::uint32_t partition = 0; partition < 2; ++partition) {
      for (std::int64_t i = 0; i < 3; ++i) {
        const std::string body = std::to_string(partition) + ":" + std::to_string(i);
        SealedBatch sealed = batch(body, static_cast<std::uint64_t>(i), i * 10, i * 10 + 9, partition);
        EXPECT_TRUE(writer.write(sealed));
      }
    }
  }
  EXPECT_EQ(memory_->contents().size(), 6U);
  EXPECT_EQ(memory_->count(StoreOp::put), 12U);
  for (const auto& request : memory_->requests()) {
    EXPECT_TRUE(request.op != StoreOp::put || request.condition == PutCondition::if_absent);
  }
}

// A store that begins with what it was doing is not told twice.
TEST_F(S3WriterTest, AnErrorNamesItsObjectOnce) {
  const std::string name = upload(IfExists::overwrite)->location(kKey);
  faulty_->add(
      {.op = StoreOp::put, .error = Error::retryable(ErrorCode::unavailable, "writing " + name + ": 503 SlowDown")});
  ObjectWriter writer(upload(IfExists::overwrite));
  SealedBatch sealed = batch("x");
  EXPECT_EQ(writer.write(sealed).error().message(), "writing " + name + ": 503 SlowDown");
}

// K17: forbidden is fatal, so the run ends with the positions uncommitted, and a rerun succeeds.
TEST_F(S3WriterTest, K17_ForbiddenIsFatalAndLosesNothing) {
  faulty_->add({.op = StoreOp::put, .error = Error::fatal(ErrorCode::permission_denied, "403 AccessDenied")});
  ObjectWriter writer(upload(IfExists::verify));
  SealedBatch sealed = batch("x");
  const auto refused = writer.write(sealed);
  EXPECT_TRUE(refused.error().is_fatal());
  EXPECT_THAT(refused.error().message(), HasSubstr("403 AccessDenied"));
  EXPECT_TRUE(writer.write(sealed));
}

// J06: the put worked, its answer was lost; the retry finds its own bytes.
TEST_F(S3WriterTest, J06_ALostAnswerIsSettledByOneHead) {
  for (const IfExists mode : {IfExists::verify, IfExists::fail, IfExists::overwrite}) {
    memory_ = std::make_shared<MemoryStore>();
    faulty_ = std::make_shared<FaultyStore>(memory_);
    faulty_->add({.op = StoreOp::put, .error = unavailable(), .done_anyway = true});
    const auto shared = upload(mode);
    ObjectWriter writer(shared);
    SealedBatch sealed = batch("x");
    EXPECT_FALSE(writer.write(sealed));
    const auto again = writer.write(sealed);
    ASSERT_TRUE(again) << again.error().describe();
    EXPECT_EQ(memory_->count(StoreOp::head), mode == IfExists::overwrite ? 0U : 1U);
    EXPECT_EQ(memory_->count(StoreOp::read), 0U);
    EXPECT_EQ(memory_->contents().size(), 1U);
    EXPECT_EQ(shared->found.value(), mode == IfExists::overwrite ? 0U : 1U);
  }
}

// A replay after a crash: another process, the same batch.
TEST_F(S3WriterTest, AReplayFindsItsOwnBytes) {
  SealedBatch sealed = batch("same bytes");
  ASSERT_TRUE(ObjectWriter(upload(IfExists::verify)).write(sealed));
  EXPECT_TRUE(ObjectWriter(upload(IfExists::verify)).write(sealed));
  const auto strict = ObjectWriter(upload(IfExists::fail)).write(sealed);
  ASSERT_FALSE(strict) << "under `fail` a taken key is an error, whatever is there";
  EXPECT_EQ(strict.error().code(), ErrorCode::already_exists);
  EXPECT_TRUE(strict.error().is_fatal());
}

TEST_F(S3WriterTest, OtherBytesOfTheSameSize) {
  ObjectWriter writer(upload(IfExists::verify));
  SealedBatch first = batch("aaaa", 0);
  SealedBatch second = batch("bbbb", 1);
  ASSERT_TRUE(writer.write(first));
  const auto refused = writer.write(second);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), AllOf(HasSubstr("both have 4 bytes"), HasSubstr("checksum")));
  EXPECT_EQ(memory_->contents().begin()->second, "aaaa");
}

// An object that we did not write has no checksum of ours; it is read back and compared, over more than one piece.
TEST_F(S3WriterTest, ObjectsWithoutAChecksumAreReadBack) {
  std::string body(3U << 20U, 'x');
  body += "tail";
  memory_->set(kKey, body);
  SealedBatch same = batch(body);
  EXPECT_TRUE(ObjectWriter(upload(IfExists::verify)).write(same));
  EXPECT_EQ(memory_->count(StoreOp::read), 4U);
  body.back() = '!';
  SealedBatch other = batch(body);
  const auto refused = ObjectWriter(upload(IfExists::verify)).write(other);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), AllOf(HasSubstr("both have 3145732 bytes"), HasSubstr("that of ours")));
}

TEST_F(S3WriterTest, LookingNeedsARightAndSaysSo) {
  memory_->set(kKey, "x");
  faulty_->add({.op = StoreOp::head, .error = Error::fatal(ErrorCode::permission_denied, "403")});
  SealedBatch sealed = batch("x");
  const auto refused = ObjectWriter(upload(IfExists::verify)).write(sealed);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("s3:GetObject"));
}

TEST_F(S3WriterTest, OverwriteReplaces) {
  memory_->set(kKey, "old");
  SealedBatch sealed = batch("new");
  EXPECT_TRUE(ObjectWriter(upload(IfExists::overwrite)).write(sealed));
  EXPECT_EQ(memory_->contents().at(kKey), "new");
  EXPECT_EQ(memory_->requests().size(), 1U);
}

// B07: a store that ignores conditions, once known, is looked at before each put.
TEST_F(S3WriterTest, B07_WithoutConditionsTheKeyIsLookedAt) {
  memory_ = std::make_shared<MemoryStore>(MemoryStore::Options{.honours_conditions = false});
  const auto shared = upload(IfExists::verify, memory_);
  shared->conditions.store(false);
  ObjectWriter writer(shared);
  SealedBatch first = batch("aaaa", 0);
  SealedBatch other = batch("bbbb", 1);
  ASSERT_TRUE(writer.write(first));
  EXPECT_TRUE(writer.write(first));
  EXPECT_FALSE(writer.write(other));
  EXPECT_EQ(memory_->contents().begin()->second, "aaaa");
  EXPECT_EQ(memory_->count(StoreOp::put), 1U);
}

TEST_F(S3WriterTest, NotImplementedConditionsFallBackOnce) {
  faulty_->add({.op = StoreOp::put, .error = Error::fatal(ErrorCode::not_supported, "501 NotImplemented")});
  const auto shared = upload(IfExists::verify);
  ObjectWriter writer(shared);
  SealedBatch sealed = batch("x");
  EXPECT_TRUE(writer.write(sealed));
  EXPECT_FALSE(shared->conditions.load());
  EXPECT_EQ(memory_->count(StoreOp::head), 1U);
  EXPECT_EQ(memory_->contents().size(), 1U);
}

// B09: every conditional put is refused, also of fresh keys. Found at the second refusal, not for ever.
TEST_F(S3WriterTest, B09_AlwaysRefused) {
  faulty_->add({.op = StoreOp::put, .times = 2, .error = Error::fatal(ErrorCode::precondition_failed, "412")});
  const auto shared = upload(IfExists::verify);
  ObjectWriter writer(shared);
  SealedBatch sealed = batch("x");
  for (int i = 0; i < 2; ++i) {
    const auto refused = writer.write(sealed);
    ASSERT_FALSE(refused);
    EXPECT_TRUE(refused.error().is_retryable());
  }
  EXPECT_FALSE(shared->conditions.load());
  EXPECT_TRUE(writer.write(sealed));
  EXPECT_EQ(memory_->contents().size(), 1U);
}

TEST_F(S3WriterTest, RecordsWithoutATimeCountFromTheirArrival) {
  SealedBatch sealed = batch("x", 0, 0, 999, 0, kNoTimestamp);
  EXPECT_EQ(ObjectWriter(upload(IfExists::verify)).write(sealed)->location, std::string("s3://b/") + kKey);
}

// `date -u -d 2024-12-30T23:30:00Z +%s`, and the same of 2027-01-01T00:30:00Z: the message's time and the clock's.
TEST_F(S3WriterTest, L01_TimeSourceSaysWhoseTimeAKeyTells) {
  const auto location = [this](TimeSource source) {
    SealedBatch sealed = batch("x", 0, 0, 999, 0, 1'735'601'400'000'000);
    sealed.chunk.opened_unix = 1'798'763'400'000'000;
    const auto made = upload(IfExists::verify);
    made->time_source = source;
    return ObjectWriter(made).write(sealed)->location;
  };
  EXPECT_THAT(location(TimeSource::message), HasSubstr("/2024-12-30/23/"));
  EXPECT_THAT(location(TimeSource::ingest), HasSubstr("/2027-01-01/00/"));
}

TEST_F(S3WriterTest, A13_TooLongAKeySendsNothing) {
  auto origin = std::make_shared<Origin>();
  origin->stream = std::string(1000, 's');
  origin->topic = "t";
  SealedBatch sealed = batch("x");
  sealed.chunk.origin = origin;
  const auto refused = ObjectWriter(upload(IfExists::verify)).write(sealed);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().is_fatal());
  EXPECT_EQ(refused.error().code(), ErrorCode::limit);
  EXPECT_TRUE(memory_->requests().empty());
}

TEST_F(S3WriterTest, CancelEndsAWriteThatHangs) {
  faulty_->add({.op = StoreOp::put, .hang = true});
  ObjectWriter writer(upload(IfExists::verify));
  SealedBatch sealed = batch("x");
  std::optional<ErrorCode> code;
  {
    Thread worker("writer", [&] { code = writer.write(sealed).error().code(); });
    const SteadyTime deadline = Clock::real().now() + std::chrono::seconds(30);
    while (faulty_->hanging() == 0 && Clock::real().now() < deadline) {
    }
    writer.cancel();
  }
  EXPECT_EQ(code, ErrorCode::cancelled);
}

// file://: no place for metadata, so a replay is compared by its bytes.
TEST_F(S3WriterTest, FilesAreComparedByContent) {
  char name[] = "/tmp/millrace-writer-XXXXXX";
  const std::string root = ::mkdtemp(name);
  const auto files = make_file_store({.root = root}, {});
  SealedBatch sealed = batch("line\n");
  const auto shared = upload(IfExists::verify, files);
  ASSERT_TRUE(ObjectWriter(shared).write(sealed));
  EXPECT_EQ(files->get(kKey, 100)->bytes, "line\n");
  EXPECT_TRUE(ObjectWriter(upload(IfExists::verify, files)).write(sealed));
  SealedBatch other = batch("LINE\n");
  const auto refused = ObjectWriter(upload(IfExists::verify, files)).write(other);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::already_exists);
  EXPECT_EQ(files->get(kKey, 100)->bytes, "line\n");
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace millrace::s3_sink
