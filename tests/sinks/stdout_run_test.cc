// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include "millrace/base/sync.h"
#include "millrace/connectors/console.h"
#include "sink_run.h"

namespace millrace::testing {
namespace {

Result<std::unique_ptr<Sink>> to(int descriptor) {
  StdoutSinkOptions options;
  options.descriptor = descriptor;
  return StdoutSink::make(options);
}

TEST(StdoutRun, EveryRecordIsALineInOrder) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  std::string expected;
  for (std::size_t i = 0; i < 20'000; ++i) expected += record(0, i) + "\n";
  std::string got;
  {
    Thread reader("reader", [&] {
      char buffer[4096];
      for (ssize_t n; (n = ::read(ends[0], buffer, sizeof buffer)) > 0;)
        got.append(buffer, static_cast<std::size_t>(n));
    });
    const RunReport report = run_into(to(ends[1]), topic_of(1, 20'000));
    EXPECT_EQ(report.state, ExitState::completed) << why(report);
    ::close(ends[1]);
  }
  EXPECT_TRUE(got == expected);
  ::close(ends[0]);
}

// A closed stdout ends the run Failed, not with a crash; what was not taken is not committed.
TEST(StdoutRun, AClosedReaderEndsTheRunFailed) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  ::close(ends[0]);
  const auto topic = topic_of(1, 1000);
  const RunReport report = run_into(to(ends[1]), topic);
  EXPECT_EQ(report.state, ExitState::failed);
  ASSERT_TRUE(report.error);
  EXPECT_EQ(report.error->code(), ErrorCode::closed);
  EXPECT_TRUE(topic->committed().empty());
  ::close(ends[1]);
}

}  // namespace
}  // namespace millrace::testing
