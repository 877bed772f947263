// SPDX-License-Identifier: Apache-2.0
#include "millrace/testing/faulty_store.h"

#include <gtest/gtest.h>

#include "millrace/testing/manual_clock.h"
#include "millrace/testing/memory_store.h"
#include "millrace/testing/slow_store.h"

namespace millrace::testing {
namespace {

/// A read and how it ended, waited for.
struct Ended {
  std::string bytes;
  std::optional<ReadOutcome> outcome;
};
class Reader {
 public:
  std::shared_ptr<ReadHandle> start(ObjectStore& store, std::string key, std::size_t size) {
    ended_.bytes.assign(size, '.');
    ReadRequest request{.key = std::move(key), .destination = ended_.bytes};
    request.done = [this](ReadOutcome outcome) {
      const MutexLock lock(mutex_);
      ended_.outcome = std::move(outcome);
      changed_.notify_all();
    };
    return store.start_read(std::move(request));
  }
  Ended& wait() {
    const MutexLock lock(mutex_);
    while (!ended_.outcome) changed_.wait(mutex_);
    return ended_;
  }
  bool ended() {
    const MutexLock lock(mutex_);
    return ended_.outcome.has_value();
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  Ended ended_;
};

class FaultyStoreTest : public ::testing::Test {
 protected:
  FaultyStoreTest() { memory_->set("in/a", "0123456789"); }
  std::shared_ptr<MemoryStore> memory_ = std::make_shared<MemoryStore>();
  FaultyStore store_{memory_};
};

Error unavailable() { return Error::retryable(ErrorCode::unavailable, "503 SlowDown"); }

TEST_F(FaultyStoreTest, HitsTheNthMatchingCallsAndNoOthers) {
  store_.add({.op = StoreOp::put, .key = "out/", .nth = 2, .times = 2, .error = unavailable()});
  EXPECT_TRUE(store_.put({.key = "out/1", .body = "x"}));
  EXPECT_TRUE(store_.put({.key = "elsewhere", .body = "x"}));
  EXPECT_EQ(store_.put({.key = "out/2", .body = "x"}).error().code(), ErrorCode::unavailable);
  EXPECT_TRUE(store_.head("out/1"));
  EXPECT_FALSE(store_.put({.key = "out/3", .body = "x"}));
  EXPECT_TRUE(store_.put({.key = "out/4", .body = "x"}));
  EXPECT_EQ(store_.hits(), 2U);
  EXPECT_EQ(memory_->contents().size(), 4U);
  EXPECT_EQ(memory_->count(StoreOp::put), 3U) << "a failed call does not reach the store";
}

TEST_F(FaultyStoreTest, AlwaysIsAlwaysUntilCleared) {
  store_.add({.times = Fault::kAlways, .error = unavailable()});
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(store_.list({}));
  EXPECT_FALSE(store_.get("in/a", 10));
  EXPECT_FALSE(store_.remove("in/a"));
  store_.clear();
  EXPECT_TRUE(store_.list({}));
}

// J06: the call worked, its answer was lost.
TEST_F(FaultyStoreTest, ALostAnswer) {
  store_.add({.op = StoreOp::put, .error = unavailable(), .done_anyway = true});
  EXPECT_FALSE(store_.put({.key = "b", .body = "x"}));
  EXPECT_EQ(memory_->contents().at("b"), "x");
}

TEST_F(FaultyStoreTest, G01_AShortReadBringsGoodBytesAndAnError) {
  store_.add({.op = StoreOp::read, .short_after = 4});
  Reader reader;
  reader.start(store_, "in/a", 10);
  Ended& ended = reader.wait();
  EXPECT_EQ(ended.outcome->received, 4U);
  EXPECT_EQ(ended.bytes, "0123......");
  ASSERT_FALSE(ended.outcome->info);
  EXPECT_EQ(ended.outcome->info.error().code(), ErrorCode::interrupted_transfer);
  EXPECT_TRUE(ended.outcome->info.error().is_retryable());
}

TEST_F(FaultyStoreTest, AShortReadOfNothing) {
  store_.add({.op = StoreOp::read, .short_after = 0, .error = unavailable()});
  Reader reader;
  reader.start(store_, "in/a", 10);
  EXPECT_EQ(reader.wait().outcome->received, 0U);
  EXPECT_EQ(reader.wait().outcome->info.error().code(), ErrorCode::unavailable);
}

TEST_F(FaultyStoreTest, ALieAboutTheEtag) {
  store_.add({.op = StoreOp::head, .etag = ETag{"W/\"weak\""}});
  store_.add({.op = StoreOp::list, .etag = ETag{}});
  EXPECT_EQ(store_.head("in/a")->info.etag.value, "W/\"weak\"");
  EXPECT_TRUE(store_.list({})->objects[0].etag.empty());
  EXPECT_TRUE(store_.head("in/a")->info.etag.pins());
}

TEST_F(FaultyStoreTest, B07_AConditionThatIsIgnored) {
  store_.add({.op = StoreOp::put, .ignore_condition = true});
  EXPECT_TRUE(store_.put({.key = "in/a", .body = "x", .condition = PutCondition::if_absent}));
  EXPECT_EQ(memory_->contents().at("in/a"), "x");
  EXPECT_FALSE(store_.put({.key = "in/a", .body = "y", .condition = PutCondition::if_absent}));
}

TEST_F(FaultyStoreTest, SomethingHappensBefore) {
  store_.add({.op = StoreOp::read, .before = [&] { memory_->set("in/a", "9876543210"); }});
  Reader reader;
  reader.start(store_, "in/a", 10);
  EXPECT_EQ(reader.wait().bytes, "9876543210");
}

TEST_F(FaultyStoreTest, AHangingReadGoesOnOrIsCancelled) {
  store_.add({.op = StoreOp::read, .times = 2, .hang = true});
  Reader first;
  Reader second;
  first.start(store_, "in/a", 10);
  const auto handle = second.start(store_, "in/a", 10);
  EXPECT_EQ(store_.hanging(), 2U);
  handle->cancel();
  EXPECT_EQ(second.wait().outcome->info.error().code(), ErrorCode::cancelled);
  EXPECT_FALSE(first.ended());
  store_.release();
  EXPECT_TRUE(first.wait().outcome->info);
}

TEST_F(FaultyStoreTest, AHangingPutIsEndedByCancelAll) {
  store_.add({.op = StoreOp::put, .hang = true});
  std::optional<ErrorCode> code;
  {
    Thread putter("putter", [&] { code = store_.put({.key = "b", .body = "x"}).error().code(); });
    const SteadyTime deadline = Clock::real().now() + std::chrono::seconds(30);
    while (store_.hanging() == 0 && Clock::real().now() < deadline) {
    }
    store_.cancel_all();
  }
  EXPECT_EQ(code, ErrorCode::cancelled);
  EXPECT_FALSE(memory_->contents().contains("b"));
}

TEST_F(FaultyStoreTest, DelaysGoByTheClock) {
  ManualClock clock;
  FaultyStore store(memory_, clock);
  store.add({.op = StoreOp::read, .delay = std::chrono::seconds(30)});
  Reader reader;
  reader.start(store, "in/a", 10);
  clock.wait_for_sleepers(1);
  clock.advance(std::chrono::seconds(29));
  clock.wait_for_sleepers(1);
  EXPECT_FALSE(reader.ended());
  clock.advance(std::chrono::seconds(1));
  EXPECT_TRUE(reader.wait().outcome->info);
}

TEST_F(FaultyStoreTest, UploadsFailByScriptToo) {
  store_.add({.op = StoreOp::begin_upload, .error = unavailable()});
  store_.add({.op = StoreOp::put_part, .nth = 2, .error = unavailable()});
  store_.add({.op = StoreOp::complete_upload, .ignore_condition = true});
  store_.add({.op = StoreOp::complete_upload, .nth = 2, .error = unavailable(), .done_anyway = true});
  EXPECT_FALSE(store_.begin_upload({.key = "in/a"}));
  const UploadId first = store_.begin_upload({.key = "in/a"}).value();
  const PartResult parts[] = {store_.put_part(first, 1, "x").value()};
  EXPECT_EQ(store_.put_part(first, 2, "y").error().code(), ErrorCode::unavailable);
  EXPECT_TRUE(store_.complete_upload(first, parts, PutCondition::if_absent)) << "the condition was lost on the way";
  const UploadId second = store_.begin_upload({.key = "in/b"}).value();
  const PartResult others[] = {store_.put_part(second, 1, "z").value()};
  EXPECT_EQ(store_.complete_upload(second, others).error().code(), ErrorCode::unavailable);
  EXPECT_EQ(memory_->contents().at("in/b"), "z") << "done, and the answer was lost";
  EXPECT_EQ(store_.complete_upload(second, others).error().code(), ErrorCode::not_found);
  EXPECT_EQ(store_.hits(), 4U);
}

// A lifecycle rule of the bucket ends what is still open.
TEST_F(FaultyStoreTest, J06_UploadsThatABucketsRuleEnds) {
  const UploadId upload = store_.begin_upload({.key = "out/a"}).value();
  EXPECT_EQ(memory_->open_uploads(), std::vector<UploadId>{upload});
  EXPECT_EQ(memory_->end_uploads(), 1U);
  EXPECT_EQ(store_.put_part(upload, 1, "x").error().code(), ErrorCode::not_found);
  EXPECT_TRUE(store_.abort_upload(upload));
}

// 30 ms rows: what is asked for side by side takes one latency, not one after the other.
TEST_F(FaultyStoreTest, SlowReadsOverlap) {
  ManualClock clock;
  SlowStore::Options options;
  options.latency = std::chrono::milliseconds(30);
  options.bytes_per_second = 1000;
  options.clock = &clock;
  SlowStore store(memory_, options);
  Reader readers[20];
  for (Reader& reader : readers) reader.start(store, "in/a", 10);
  EXPECT_EQ(store.most_reads_in_flight(), 20U);
  clock.wait_for_sleepers(1);
  clock.advance(std::chrono::milliseconds(39));
  clock.wait_for_sleepers(1);
  for (Reader& reader : readers) EXPECT_FALSE(reader.ended());
  clock.advance(std::chrono::milliseconds(1));
  for (Reader& reader : readers) EXPECT_EQ(reader.wait().bytes, "0123456789");
}

}  // namespace
}  // namespace millrace::testing
