// SPDX-License-Identifier: Apache-2.0
// Goal: credentials are fetched once for all, renewed ahead of their end, kept while valid, and renewed once when they
// are refused. Method: a source that answers when the test says so, and a clock that the test moves.
#include "store/s3/credential_keeper.h"

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <map>

namespace millrace::s3 {
namespace {

constexpr UnixMicros kSecond = 1'000'000;

class TestClock final : public Clock {
 public:
  [[nodiscard]] SteadyTime now() const override { return SteadyTime(std::chrono::microseconds(micros)); }
  [[nodiscard]] UnixMicros unix_micros() const override { return micros; }
  void wait_until(CondVar&, Mutex&, SteadyTime) override {}
  UnixMicros micros = 1000 * kSecond;
};

class TestSource final : public CredentialSource {
 public:
  void fetch(std::move_only_function<void(Result<Credentials>)> done) override {
    ++fetches;
    pending = std::move(done);
  }
  [[nodiscard]] bool refreshable() const override { return can_renew; }
  [[nodiscard]] std::string tried() const override { return "metadata: no answer yet"; }
  void answer(const std::string& key, UnixMicros expires) {
    std::exchange(pending, nullptr)(Credentials{key, "secret-of-" + key, "token", expires, "test"});
  }
  void refuse() {
    std::exchange(pending, nullptr)(fail(Error::fatal(ErrorCode::credentials, "the endpoint answered 500")));
  }
  std::move_only_function<void(Result<Credentials>)> pending;
  int fetches = 0;
  bool can_renew = true;
};

class CredentialKeeperTest : public ::testing::Test {
 protected:
  CredentialKeeperTest() {
    CredentialKeeper::Thread thread;
    thread.post = [this](std::move_only_function<void()> work) { posted.push_back(std::move(work)); };
    thread.call_at = [this](SteadyTime when, std::move_only_function<void()> work) {
      timers.emplace(when, std::move(work));
    };
    thread.now = [this] { return clock.now(); };
    keeper = std::make_unique<CredentialKeeper>(source, clock, Logger(), std::move(thread));
  }
  void run() {
    while (!posted.empty()) {
      auto work = std::move(posted.front());
      posted.pop_front();
      work();
    }
    while (!timers.empty() && timers.begin()->first <= clock.now()) {
      auto due = timers.extract(timers.begin());
      due.mapped()();
    }
  }
  // What a get answers at once: the access key, "-" when it waits, or the error.
  std::string get() {
    auto said = std::make_shared<std::string>("-");
    keeper->get([said](const Result<CredentialIssue>& issue) {
      *said = issue ? issue->credentials->access_key_id : issue.error().message();
    });
    last = said;
    return *said;
  }
  TestClock clock;
  std::shared_ptr<TestSource> source = std::make_shared<TestSource>();
  std::deque<std::move_only_function<void()>> posted;
  std::multimap<SteadyTime, std::move_only_function<void()>> timers;
  std::unique_ptr<CredentialKeeper> keeper;
  std::shared_ptr<std::string> last;
};

TEST_F(CredentialKeeperTest, I01_OneFetchServesAllWhoWait) {
  EXPECT_EQ(get(), "-");
  const auto first = last;
  EXPECT_EQ(get(), "-");
  EXPECT_EQ(source->fetches, 1);
  source->answer("one", INT64_MAX);
  run();
  EXPECT_EQ(*first, "one");
  EXPECT_EQ(*last, "one");
  EXPECT_EQ(get(), "one");
  EXPECT_EQ(source->fetches, 1);
}

TEST_F(CredentialKeeperTest, I01_TokensOfAMinuteAreRenewedAheadAndOldOnesUsedMeanwhile) {
  get();
  source->answer("one", clock.micros + 60 * kSecond);
  run();
  clock.micros += 39 * kSecond;
  EXPECT_EQ(get(), "one");
  EXPECT_EQ(source->fetches, 1);
  clock.micros += 2 * kSecond;  // two thirds of its life are over
  EXPECT_EQ(get(), "one");
  EXPECT_EQ(source->fetches, 2);
  EXPECT_EQ(get(), "one");
  EXPECT_EQ(source->fetches, 2);
  source->answer("two", clock.micros + 60 * kSecond);
  run();
  EXPECT_EQ(get(), "two");
}

TEST_F(CredentialKeeperTest, I01_AFailedRenewalKeepsWhatIsValidAndIsRepeatedLater) {
  get();
  source->answer("one", clock.micros + 60 * kSecond);
  run();
  clock.micros += 45 * kSecond;
  get();
  source->refuse();
  run();
  EXPECT_EQ(get(), "one");
  EXPECT_EQ(source->fetches, 2);  // not at once again
  clock.micros += 6 * kSecond;
  EXPECT_EQ(get(), "one");
  EXPECT_EQ(source->fetches, 3);
  source->refuse();
  run();
  clock.micros += 20 * kSecond;  // over
  EXPECT_EQ(get(), "-");
  source->refuse();
  run();
  EXPECT_EQ(*last, "the endpoint answered 500");
  EXPECT_EQ(get(), "-");
  source->answer("two", clock.micros + 60 * kSecond);
  run();
  EXPECT_EQ(*last, "two");
}

TEST_F(CredentialKeeperTest, I03_ARefusedGenerationIsRenewedOnce) {
  get();
  source->answer("one", INT64_MAX);
  run();
  std::vector<std::string> said;
  const auto waiter = [&](const Result<CredentialIssue>& issue) {
    said.push_back(issue ? issue->credentials->access_key_id + "/" + std::to_string(issue->generation)
                         : issue.error().message());
  };
  keeper->renew_after_refusal(1, waiter);
  keeper->renew_after_refusal(1, waiter);
  EXPECT_EQ(source->fetches, 2);
  source->answer("two", INT64_MAX);
  run();
  EXPECT_EQ(said, (std::vector<std::string>{"two/2", "two/2"}));
  keeper->renew_after_refusal(1, waiter);  // one that was slow to be refused
  EXPECT_EQ(source->fetches, 2);
  EXPECT_EQ(said.back(), "two/2");
  keeper->renew_after_refusal(2, waiter);
  source->answer("two", INT64_MAX);  // nothing new
  run();
  EXPECT_EQ(said.back(), "two/2");
}

TEST_F(CredentialKeeperTest, I03_KeysFromTheOptionsCannotBeRenewed) {
  source->can_renew = false;
  get();
  source->answer("one", INT64_MAX);
  run();
  bool failed = false;
  keeper->renew_after_refusal(1, [&](const Result<CredentialIssue>& issue) { failed = !issue; });
  EXPECT_TRUE(failed);
  EXPECT_EQ(source->fetches, 1);
}

TEST_F(CredentialKeeperTest, I04_NoAnswerInTenSecondsIsAnErrorThatListsWhatWasTried) {
  EXPECT_EQ(get(), "-");
  clock.micros += 11 * kSecond;
  run();
  EXPECT_NE(last->find("no credentials within 10 s; tried: metadata: no answer yet"), std::string::npos) << *last;
  EXPECT_NE(get().find("no credentials"), std::string::npos);  // nobody waits behind it
  source->answer("late", INT64_MAX);
  run();
  EXPECT_EQ(get(), "late");
}

TEST_F(CredentialKeeperTest, AnswersAfterTheEndAreDropped) {
  get();
  keeper.reset();
  source->answer("one", INT64_MAX);
  clock.micros += 60 * kSecond;
  run();
}

}  // namespace
}  // namespace millrace::s3
