// SPDX-License-Identifier: Apache-2.0
// ManifestFile: who may write the manifest, under which condition, and what a conflict means. On a memory store, with
// stores that ignore, refuse or break conditions; time moves by hand.
#include "connectors/s3/manifest_file.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>

#include "connectors/s3/log_capture.h"
#include "connectors/s3/process.h"
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

/// One run's view of the manifest.
struct Writer {
  explicit Writer(std::shared_ptr<ObjectStore> store, ManualClock& clock,
                  std::function<void(ManifestFile::Options&)> change = {}, std::string host = "elsewhere")
      : log(std::make_shared<LogCapture>()) {
    self.id = "run-" + std::to_string(++count);
    self.host = std::move(host);
    self.pid = 77;
    self.process = "another boot/another namespace/1";  // not of this machine: only its heartbeat tells
    self.started = self.heartbeat = clock.unix_micros();
    ManifestFile::Options options{.key = kKey, .url = "s3://b/ck/manifest.json"};
    options.retry = {.tries = 3, .backoff = {.initial = Duration(1), .cap = Duration(1)}};
    if (change) change(options);
    file = std::make_unique<ManifestFile>(std::move(store), options, self, clock, Random::system(), Logger(log, "s3"),
                                          stop);
    manifest.lanes = 1;
    manifest.identity.url = "s3://b/in/";
  }
  Result<void> save() { return file->save(manifest, false); }
  static inline int count = 0;
  std::shared_ptr<LogCapture> log;
  Owner self;
  StopSignal stop;
  std::unique_ptr<ManifestFile> file;
  Manifest manifest;
};

class ManifestFileTest : public ::testing::Test {
 protected:
  Manifest stored() { return *parse_manifest(memory->contents().at(kKey)); }
  std::vector<PutCondition> conditions() {
    std::vector<PutCondition> all;
    for (const auto& request : memory->requests()) {
      if (request.op == StoreOp::put) all.push_back(request.condition);
    }
    return all;
  }
  ManualClock clock;
  std::shared_ptr<MemoryStore> memory = std::make_shared<MemoryStore>(MemoryStore::Options{.clock = &clock});
};

// What is longer could not be read again.
TEST_F(ManifestFileTest, F10_WhatWouldBeNoManifestIsNotWritten) {
  Writer run(memory, clock);
  ASSERT_TRUE(run.save());
  run.manifest.skipped.count = 10'000;
  run.manifest.skipped.keys.assign(10'000, std::string(4'000, 'k'));
  const auto saved = run.save();
  ASSERT_FALSE(saved);
  EXPECT_TRUE(saved.error().is_fatal());
  EXPECT_EQ(saved.error().code(), ErrorCode::limit);
  EXPECT_NE(saved.error().message().find("no manifest has more than 33554432"), std::string::npos)
      << saved.error().message();
  EXPECT_EQ(stored().generation, 1U) << "what was saved before stays";
}

TEST_F(ManifestFileTest, EachSaveIsConditionalOnTheVersionLastSeen) {
  Writer run(memory, clock);
  const auto nothing = run.file->acquire();
  ASSERT_TRUE(nothing);
  EXPECT_FALSE(nothing->has_value());
  ASSERT_TRUE(run.save());
  ASSERT_TRUE(run.save());
  ASSERT_TRUE(run.save());
  EXPECT_EQ(conditions(), (std::vector{PutCondition::if_absent, PutCondition::if_match, PutCondition::if_match}));
  EXPECT_EQ(stored().generation, 3U);
  EXPECT_EQ(stored().owner.id, run.self.id);
}

// A manifest in another bucket does not get the options of the source's store.
TEST_F(ManifestFileTest, OptionsThatWereNotGivenAreNamed) {
  const auto faulty = std::make_shared<FaultyStore>(memory);
  faulty->add({.op = StoreOp::get, .times = 2, .error = Error::fatal(ErrorCode::credentials, "no credentials found")});
  Writer unset(faulty, clock, [](auto& options) { options.store_unset = true; });
  EXPECT_EQ(unset.file->load().error().message(),
            "reading the manifest s3://b/ck/manifest.json (source.s3.checkpoint.store is not set, and the options of "
            "source.s3.store are taken for the same bucket only): no credentials found");
  Writer set(faulty, clock);
  EXPECT_EQ(set.file->load().error().message(), "reading the manifest s3://b/ck/manifest.json: no credentials found");
}

TEST_F(ManifestFileTest, F13_AFirstRunIsSaidLoudlyOrRefused) {
  Writer first(memory, clock);
  ASSERT_TRUE(first.file->acquire());
  EXPECT_EQ(first.log->count("warn no manifest there: this is a first run"), 1U) << first.log->all();
  Writer expecting(memory, clock, [](auto& options) { options.expect_resume = true; });
  const auto acquired = expecting.file->acquire();
  ASSERT_FALSE(acquired);
  EXPECT_EQ(acquired.error().code(), ErrorCode::manifest);
  EXPECT_NE(acquired.error().message().find("--expect-resume"), std::string::npos);
}

TEST_F(ManifestFileTest, F12_OfTwoFirstRunsOneWinsAndTheOtherSaysByWhom) {
  Writer one(memory, clock);
  Writer other(memory, clock, {}, "worker-2");
  ASSERT_TRUE(one.file->acquire());
  ASSERT_TRUE(other.file->acquire());
  ASSERT_TRUE(other.save());
  const auto lost = one.save();
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code(), ErrorCode::fenced);
  EXPECT_TRUE(lost.error().is_fatal());
  for (const char* part : {"worker-2", "pid 77", "started 2023-11-14T22:13:20Z", "--take-over"}) {
    EXPECT_NE(lost.error().message().find(part), std::string::npos) << part << " in " << lost.error().message();
  }
  EXPECT_EQ(stored().owner.id, other.self.id);
}

TEST_F(ManifestFileTest, F12_ALostAnswerOfOurOwnIsNoConflict) {
  auto store = std::make_shared<FaultyStore>(memory);
  Writer run(store, clock);
  ASSERT_TRUE(run.file->acquire());
  store->add({.op = StoreOp::put, .error = Error::retryable(ErrorCode::timeout, "no answer"), .done_anyway = true});
  ASSERT_FALSE(run.save());  // landed as generation 1
  ASSERT_TRUE(run.save());
  EXPECT_EQ(stored().generation, 2U);
  store->add({.op = StoreOp::put, .error = Error::retryable(ErrorCode::timeout, "no answer"), .done_anyway = true});
  ASSERT_FALSE(run.save());
  ASSERT_TRUE(run.save());
  EXPECT_EQ(stored().generation, 4U);
  EXPECT_TRUE(run.file->conditional());
}

TEST_F(ManifestFileTest, TheLoserOfATakeOverIsFencedAtItsNextSave) {
  Writer one(memory, clock);
  ASSERT_TRUE(one.file->acquire());
  ASSERT_TRUE(one.save());
  Writer other(memory, clock, [](auto& options) { options.take_over = true; });
  const auto taken = other.file->acquire();
  ASSERT_TRUE(taken);
  EXPECT_EQ((*taken)->owner.id, one.self.id);
  ASSERT_TRUE(other.save());
  const auto lost = one.save();
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code(), ErrorCode::fenced);
  ASSERT_TRUE(other.save());
}

TEST_F(ManifestFileTest, AReleasedManifestIsTakenAtOnce) {
  Writer one(memory, clock);
  ASSERT_TRUE(one.file->acquire());
  ASSERT_TRUE(one.file->save(one.manifest, /*released=*/true));
  Writer other(memory, clock);
  ASSERT_TRUE(other.file->acquire());
  ASSERT_TRUE(other.save());
  EXPECT_EQ(conditions().back(), PutCondition::if_match);
}

TEST_F(ManifestFileTest, AProcessThatIsGoneIsNotWaitedFor) {
  // A real process of this machine, gone but for its exit status.
  Writer one(memory, clock);
  ASSERT_TRUE(one.file->acquire());
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const Owner self = this_process(Clock::real(), Random::system());
    (void)!::write(pipe[1], self.process.data(), self.process.size());
    ::_exit(0);
  }
  char buffer[300];
  const auto size = ::read(pipe[0], buffer, sizeof buffer);
  ASSERT_GT(size, 0);
  Owner gone;
  gone.pid = static_cast<std::uint64_t>(child);
  gone.process.assign(buffer, static_cast<std::size_t>(size));
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_TRUE(is_gone(gone)) << "a zombie writes nothing";
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(is_gone(gone));
  ::close(pipe[0]);
  ::close(pipe[1]);

  const Owner self = this_process(Clock::real(), Random::system());
  EXPECT_FALSE(is_gone(self));
  Owner reused = self;
  reused.process += "0";  // same pid, started at another time
  EXPECT_TRUE(is_gone(reused));
  Owner elsewhere = gone;
  elsewhere.process = "another boot" + elsewhere.process;
  EXPECT_FALSE(is_gone(elsewhere)) << "nothing is known of processes of other machines";
}

// The other machine's clock stands an hour before or behind ours; only how long nothing moves counts.
TEST_F(ManifestFileTest, F12_AnotherOwnerIsWaitedForAsLongAsItStandsStillWhateverItsClockSays) {
  for (const std::int64_t hours : {-1, 0, 1}) {
    Writer one(memory, clock, [](auto& options) { options.reset = options.take_over = true; });
    ASSERT_TRUE(one.file->acquire());
    ASSERT_TRUE(one.save());
    Manifest theirs = stored();
    theirs.owner.heartbeat += hours * 3'600'000'000;
    memory->set(kKey, to_json(theirs));
    Writer other(memory, clock);
    Result<std::optional<Manifest>> taken;
    Thread waiting("newcomer", [&] { taken = other.file->acquire(); });
    for (int second = 0; second < 30; ++second) {
      clock.wait_for_sleepers(1);
      EXPECT_EQ(other.log->count("taking it over"), 0U) << second;
      const std::size_t looks = memory->count(StoreOp::get);
      clock.advance(std::chrono::seconds(1));
      while (memory->count(StoreOp::get) == looks) {
      }
    }
    waiting.join();
    ASSERT_TRUE(taken) << taken.error().message();
    EXPECT_EQ((*taken)->owner.id, one.self.id);
    EXPECT_EQ(other.log->count("waiting up to 30s"), 1U) << other.log->all();
    EXPECT_EQ(other.log->count("taking it over"), 1U);
  }
}

TEST_F(ManifestFileTest, F12_AnOwnerThatShowsLifeKeepsItsManifest) {
  Writer one(memory, clock, {}, "worker-1");
  ASSERT_TRUE(one.file->acquire());
  ASSERT_TRUE(one.save());
  Writer other(memory, clock);
  Result<std::optional<Manifest>> taken;
  Thread waiting("newcomer", [&] { taken = other.file->acquire(); });
  clock.wait_for_sleepers(1);
  clock.advance(std::chrono::seconds(1));
  clock.wait_for_sleepers(1);
  ASSERT_TRUE(one.save());  // a heartbeat
  clock.advance(std::chrono::seconds(1));
  waiting.join();
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code(), ErrorCode::fenced);
  EXPECT_NE(taken.error().message().find("worker-1"), std::string::npos);
  EXPECT_NE(taken.error().message().find("--take-over"), std::string::npos);
}

TEST_F(ManifestFileTest, AStopEndsTheWaiting) {
  Writer one(memory, clock);
  ASSERT_TRUE(one.file->acquire());
  ASSERT_TRUE(one.save());
  Writer other(memory, clock);
  Result<std::optional<Manifest>> taken;
  Thread waiting("newcomer", [&] { taken = other.file->acquire(); });
  clock.wait_for_sleepers(1);
  other.stop.request();
  waiting.join();
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code(), ErrorCode::cancelled);
}

TEST_F(ManifestFileTest, F10_WhatIsNoManifestIsRefusedAndLeftAlone) {
  memory->set(kKey, std::string(kManifestLimit + 1, 'j'));
  const std::string junk = memory->contents().at(kKey);
  Writer run(memory, clock);
  const auto acquired = run.file->acquire();
  ASSERT_FALSE(acquired);
  EXPECT_EQ(acquired.error().code(), ErrorCode::manifest);
  EXPECT_NE(acquired.error().message().find("--reset"), std::string::npos);
  EXPECT_EQ(memory->contents().at(kKey), junk);
}

// The message for what is too large to be read advises --reset as well.
TEST_F(ManifestFileTest, F10_ResetReplacesWhatIsThereEvenJunk) {
  for (const std::string& junk : {std::string("junk"), std::string(kManifestLimit + 1, 'j')}) {
    memory->set(kKey, junk);
    memory->clear_requests();
    Writer run(memory, clock, [](auto& options) { options.reset = true; });
    const auto acquired = run.file->acquire();
    ASSERT_TRUE(acquired) << acquired.error().message();
    EXPECT_FALSE(acquired->has_value());
    const auto saved = run.save();
    ASSERT_TRUE(saved) << saved.error().message();
    EXPECT_EQ(conditions(), std::vector{PutCondition::if_match});
    EXPECT_EQ(stored().owner.id, run.self.id);
    EXPECT_EQ(run.log->count("does not do conditional writes"), 0U) << run.log->all();
  }
}

TEST_F(ManifestFileTest, F10_ResetReplacesJunkWhereConditionsDoNotWork) {
  for (const std::string& junk : {std::string("junk"), std::string(kManifestLimit + 1, 'j')}) {
    for (const bool etags : {true, false}) {
      const auto inner = std::make_shared<MemoryStore>(
          MemoryStore::Options{.clock = &clock, .etags = etags ? MemoryStore::Tags::strong : MemoryStore::Tags::none});
      inner->set(kKey, junk);
      const auto store = std::make_shared<FaultyStore>(inner);
      // A store with ETags that refuses exactly the version that is there (B09).
      if (etags) store->add({.op = StoreOp::put, .error = Error::fatal(ErrorCode::precondition_failed, "412")});
      Writer run(store, clock, [](auto& options) { options.reset = true; });
      ASSERT_TRUE(run.file->acquire());
      const auto saved = run.save();
      ASSERT_TRUE(saved) << saved.error().message();
      EXPECT_EQ(parse_manifest(inner->contents().at(kKey))->owner.id, run.self.id);
      // Once it is ours, junk in its place is somebody else's doing.
      inner->set(kKey, junk);
      EXPECT_EQ(run.save().error().code(), ErrorCode::fenced);
    }
  }
}

TEST_F(ManifestFileTest, B07_IgnoredConditionsAreFoundOutAndSaidOnce) {
  const auto careless =
      std::make_shared<MemoryStore>(MemoryStore::Options{.clock = &clock, .honours_conditions = false});
  Writer run(careless, clock);
  ASSERT_TRUE(run.file->acquire());
  ASSERT_TRUE(run.save());
  EXPECT_TRUE(run.file->conditional());
  ASSERT_TRUE(run.file->probe_conditions(run.manifest));
  EXPECT_FALSE(run.file->conditional());
  ASSERT_TRUE(run.save());
  ASSERT_TRUE(run.save());
  EXPECT_EQ(run.log->count("does not do conditional writes"), 1U) << run.log->all();
  // Another run that writes in between is found by reading and comparing.
  Writer other(careless, clock, [](auto& options) { options.take_over = true; });
  ASSERT_TRUE(other.file->acquire());
  ASSERT_TRUE(other.save());
  const auto lost = run.save();
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code(), ErrorCode::fenced);
}

// A store may honour If-None-Match and know nothing of If-Match: then each run would replace the other's version.
TEST_F(ManifestFileTest, B07_IgnoredIfMatchAloneIsFoundOutAndSaidOnce) {
  const auto half = std::make_shared<MemoryStore>(MemoryStore::Options{.clock = &clock, .honours_if_match = false});
  Writer run(half, clock);
  ASSERT_TRUE(run.file->acquire());
  ASSERT_TRUE(run.save());
  const auto before = half->contents();
  ASSERT_TRUE(run.file->probe_conditions(run.manifest));
  EXPECT_EQ(half->contents(), before);
  EXPECT_FALSE(run.file->conditional());
  ASSERT_TRUE(run.save());
  EXPECT_EQ(run.log->count("If-Match was ignored"), 1U) << run.log->all();
  EXPECT_EQ(run.log->count("does not do conditional writes"), 1U) << run.log->all();
  Writer other(half, clock, [](auto& options) { options.take_over = true; });
  ASSERT_TRUE(other.file->acquire());
  ASSERT_TRUE(other.save());
  const auto lost = run.save();
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code(), ErrorCode::fenced);
}

TEST_F(ManifestFileTest, AProbeThatCouldNotBeMadeIsTold) {
  for (const int put : {1, 2}) {
    auto store = std::make_shared<FaultyStore>(memory);
    Writer run(store, clock, [](auto& options) { options.take_over = true; });
    ASSERT_TRUE(run.file->acquire());
    ASSERT_TRUE(run.save());
    store->add({.op = StoreOp::put,
                .nth = static_cast<std::uint64_t>(put),
                .error = Error::retryable(ErrorCode::unavailable, "503")});
    EXPECT_FALSE(run.file->probe_conditions(run.manifest)) << put;
    EXPECT_TRUE(run.file->conditional());
    ASSERT_TRUE(run.save());
  }
}

TEST_F(ManifestFileTest, TheProbeLeavesAHonestStoreAlone) {
  Writer run(memory, clock);
  ASSERT_TRUE(run.file->acquire());
  ASSERT_TRUE(run.save());
  const auto before = memory->contents();
  ASSERT_TRUE(run.file->probe_conditions(run.manifest));
  EXPECT_EQ(memory->contents(), before);
  EXPECT_TRUE(run.file->conditional());
  ASSERT_TRUE(run.save());
}

TEST_F(ManifestFileTest, B09_ConditionsThatAreAlwaysRefusedDoNotStopTheRun) {
  for (const ErrorCode code : {ErrorCode::precondition_failed, ErrorCode::not_supported}) {
    auto store = std::make_shared<FaultyStore>(memory);
    Writer run(store, clock, [](auto& options) { options.take_over = true; });
    ASSERT_TRUE(run.file->acquire());
    store->add({.op = StoreOp::put, .error = Error::fatal(code, "no conditions here")});
    ASSERT_TRUE(run.save());
    EXPECT_FALSE(run.file->conditional());
    ASSERT_TRUE(run.save());
    EXPECT_EQ(stored().owner.id, run.self.id);
    EXPECT_EQ(run.log->count("does not do conditional writes"), 1U);
  }
}

TEST_F(ManifestFileTest, WithoutETagsSavesReadAndCompare) {
  const auto bare =
      std::make_shared<MemoryStore>(MemoryStore::Options{.clock = &clock, .etags = MemoryStore::Tags::none});
  Writer run(bare, clock);
  ASSERT_TRUE(run.file->acquire());
  ASSERT_TRUE(run.save());
  ASSERT_TRUE(run.save());
  ASSERT_TRUE(run.save());
  EXPECT_EQ(run.log->count("does not do conditional writes"), 1U);
}

TEST_F(ManifestFileTest, AManifestThatWasRemovedIsWrittenAgain) {
  Writer run(memory, clock);
  ASSERT_TRUE(run.file->acquire());
  ASSERT_TRUE(run.save());
  memory->erase(kKey);
  ASSERT_TRUE(run.save());
  EXPECT_EQ(stored().owner.id, run.self.id);
  EXPECT_EQ(run.log->count("was removed"), 1U);
}

TEST_F(ManifestFileTest, ReadingIsRetriedWhileItMayPass) {
  auto store = std::make_shared<FaultyStore>(memory);
  store->add({.op = StoreOp::get, .times = 2, .error = Error::retryable(ErrorCode::timeout, "slow")});
  Writer run(store, clock, [](auto& options) { options.retry.backoff = {.initial = Duration(1), .cap = Duration(1)}; });
  Result<std::optional<Manifest>> got;
  Thread reading("reader", [&] { got = run.file->acquire(); });
  for (std::uint64_t failures = 1; failures <= 2; ++failures) {
    while (store->hits() < failures) {
    }
    clock.wait_for_sleepers(1);
    clock.advance(std::chrono::seconds(1));
  }
  reading.join();
  EXPECT_TRUE(got);
}

}  // namespace
}  // namespace millrace::s3_source
