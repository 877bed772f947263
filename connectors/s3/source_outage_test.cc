// SPDX-License-Identifier: Apache-2.0
// Goal: an endpoint whose name cannot be resolved for half a minute costs time and nothing else, whatever the run was
// about to ask for: nothing is lost or doubled, and nobody starts it again (row H01). Method: a whole pipeline on a
// manual clock with the retry policy of a user, over a store that from one call on answers as ours does when a name has
// no address (S3StoreFaults.H01_NobodyThereIsRetryable), for thirty seconds of that clock.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "connectors/s3/log_capture.h"
#include "connectors/s3/manifest.h"
#include "connectors/s3/source.h"
#include "millrace/decode/raw.h"
#include "millrace/encode/encode.h"
#include "millrace/pipeline/compile.h"
#include "millrace/pipeline/pipeline.h"
#include "millrace/testing/capture_sink.h"
#include "millrace/testing/faulty_store.h"
#include "millrace/testing/manual_clock.h"
#include "millrace/testing/memory_store.h"

namespace millrace::s3_source {
namespace {

using millrace::testing::Capture;
using millrace::testing::CaptureSink;
using millrace::testing::Fault;
using millrace::testing::FaultyStore;
using millrace::testing::ManualClock;
using millrace::testing::MemoryStore;

class Outage : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  Outage() {
    for (int i = 0; i < 12; ++i) {
      std::string text;
      for (int line = 0; line < 50; ++line) {
        lines.push_back(fmt::format("{:02}-{:02}", i, line));
        text += lines.back() + "\n";
      }
      memory->set(fmt::format("in/{:02}", i), text);
    }
  }
  Result<std::unique_ptr<Source>> source() {
    S3SourceOptions options;
    options.url = "s3://b/in/";
    options.lanes = 2;
    options.requests_in_flight = 1;
    options.checkpoint.url = "s3://b/ck/manifest.json";
    MILLRACE_ASSIGN(Settings settings, settle(options));
    return std::make_unique<BackfillSource>(std::move(settings), StartFlags(),
                                            [this](const StoreUrl&, const StoreOptions&, const StoreContext&) {
                                              return std::shared_ptr<ObjectStore>(store);
                                            });
  }
  /// Lets the clock run for so many seconds, faster than any real one, unless the run ends before.
  void let_pass(std::uint64_t seconds, const Atomic<bool>& ended) {
    Mutex mutex;
    CondVar never;
    for (; seconds > 0 && !ended.load(); --seconds) {
      clock.advance(std::chrono::seconds(1));
      const MutexLock lock(mutex);
      Clock::real().wait_until(never, mutex, Clock::real().now() + std::chrono::milliseconds(1));
    }
  }

  ManualClock clock;
  std::vector<std::string> lines;
  std::shared_ptr<MemoryStore> memory = std::make_shared<MemoryStore>();
  std::shared_ptr<FaultyStore> store = std::make_shared<FaultyStore>(memory);
  std::shared_ptr<Capture> capture = std::make_shared<Capture>();
  std::shared_ptr<LogCapture> log = std::make_shared<LogCapture>();
};

TEST_P(Outage, H01_AnEndpointWithoutAnAddressForHalfAMinute) {
  const Error nameless = Error::retryable(ErrorCode::unreachable, "could not resolve host: s3.test");
  store->add({.nth = GetParam(), .times = Fault::kAlways, .error = nameless});
  PipelineOptions options;
  options.name = "outage";
  options.checkpoint_interval = std::chrono::seconds(1);
  options.drain_timeout = std::chrono::hours(24);
  Pipeline pipeline(options);
  testing::CaptureSinkOptions small;
  small.policy.max_records = 10;
  pipeline.clock(clock).log(Logger(log, "test"));
  pipeline.sink(CaptureSink::make(capture, small)).chain([](const ChainContext&) {
    return decode::raw() | encode::raw();
  });
  RunReport report;
  Atomic<bool> ended{false};
  Thread run("run", [&] {
    report = pipeline.run(source());
    ended.store(true);
  });
  while (store->hits() == 0 && !ended.load()) {
  }
  EXPECT_FALSE(ended.load());
  let_pass(30, ended);
  EXPECT_FALSE(ended.load()) << "it waits for as long as the outage lasts";
  store->clear();
  let_pass(UINT64_MAX, ended);
  run.join();
  ASSERT_EQ(report.state, ExitState::completed) << (report.error ? report.error->describe() : "") << log->all();
  auto written = capture->lines();
  std::ranges::sort(written);
  EXPECT_EQ(written, lines);
  EXPECT_TRUE(parse_manifest(memory->contents().at("ck/manifest.json"))->complete);
}

// From the third call on, which claims the manifest, and among the reads: each of them meets it once. Not the first
// two, the listing and the manifest's loading: an endpoint that never answered is given up sooner, as rather a wrong
// one (Lister.TransientFailuresAreRetriedAndTheEighthInARowIsFatal). Nor the last save, which has its own bound.
INSTANTIATE_TEST_SUITE_P(AtCall, Outage, ::testing::Range<std::uint64_t>(3, 14));

}  // namespace
}  // namespace millrace::s3_source
