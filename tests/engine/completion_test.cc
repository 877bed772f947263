// SPDX-License-Identifier: Apache-2.0
// Runs that come to their end: what is written, what is committed, and when a run may call itself Completed.
#include <gtest/gtest.h>

#include "engine_fixture.h"

namespace millrace::testing {
namespace {

TEST(Completion, INV1_INV2_EverythingIsWrittenCommittedAndCounted) {
  auto topic = filled_and_ended(4, 1000);
  auto capture = std::make_shared<Capture>();
  Pipeline pipeline(quick());
  pipeline.sink(CaptureSink::make(capture, small_chunks())).chain_factory(LineChain::factory());
  MemorySourceOptions options;
  const auto script = options.script;
  const RunReport report = pipeline.run(MemorySource::make(topic, options));
  ASSERT_EQ(report.state, ExitState::completed) << why(report);
  EXPECT_EQ(report.exit_code(), 0);
  EXPECT_EQ(sorted(capture->lines()), everything(4, 1000));
  for (const PartitionId p : topic->partitions()) EXPECT_EQ(topic->committed().at(p), Watermark(1000));
  EXPECT_EQ(report.committed.size(), 4U);
  EXPECT_EQ(report.records_in, 4000U);
  EXPECT_EQ(report.records_out, 4000U);
  EXPECT_EQ(report.records_unacknowledged, 0U);
  EXPECT_EQ(report.batches_written, capture->batches().size());
  EXPECT_GE(topic->flushes(), 1U);
  EXPECT_TRUE(script->seen().closed);
  EXPECT_TRUE(capture->closed());
}

}  // namespace
}  // namespace millrace::testing
