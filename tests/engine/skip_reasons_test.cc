// SPDX-License-Identifier: Apache-2.0
// Skipped records are counted by reason, whatever the reason is, and what skips them does not end the run.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "millrace/decode/raw.h"
#include "millrace/encode/encode.h"
#include "millrace/ops/ops.h"
#include "millrace/pipeline/pipeline.h"
#include "millrace/testing/capture_sink.h"
#include "millrace/testing/memory_source.h"

namespace millrace {
namespace {

using Reasons = std::map<std::string, std::uint64_t>;

std::shared_ptr<testing::MemoryTopic> topic_of(int records) {
  auto topic = std::make_shared<testing::MemoryTopic>(1);
  for (int i = 0; i < records; ++i) topic->append(PartitionId(0), std::to_string(i));
  topic->end();
  return topic;
}

TEST(SkipReasons, ARecordThatNoBranchWantsIsCountedAndCommitted) {
  const auto written = std::make_shared<testing::Capture>();
  Pipeline pipeline;
  const RunReport report =
      pipeline.sink(testing::CaptureSink::make(written))
          .chain([](const ChainContext&) {
            const auto is_even = [](std::string_view text) { return (text.back() - '0') % 2 == 0; };
            return decode::text() |
                   ops::split({.on_unmatched = OnError::skip}, ops::when(is_even, encode::raw({.delimiter = ""})));
          })
          .run(testing::MemorySource::make(topic_of(10)));
  EXPECT_EQ(report.state, ExitState::completed) << (report.error ? report.error->describe() : "");
  EXPECT_EQ(report.records_skipped, (Reasons{{"unrouted", 5}}));
  EXPECT_EQ(report.records_out, 5U);
  EXPECT_EQ(report.committed.at(0).watermark.value(), 10);
}

// As an operator gives them: any code may come, the last one of the list too.
TEST(SkipReasons, EveryCodeHasItsCount) {
  const auto written = std::make_shared<testing::Capture>();
  Pipeline pipeline;
  const RunReport report =
      pipeline.sink(testing::CaptureSink::make(written))
          .chain([](const ChainContext&) {
            return decode::text() |
                   ops::try_map(
                       [](std::string_view text) -> Result<std::string_view> {
                         return fail(Error::record(static_cast<ErrorCode>(std::stoi(std::string(text))), "so"));
                       },
                       {.on_error = OnError::skip}) |
                   encode::raw();
          })
          .run(testing::MemorySource::make(topic_of(static_cast<int>(kErrorCodes))));
  EXPECT_EQ(report.state, ExitState::completed) << (report.error ? report.error->describe() : "");
  EXPECT_EQ(report.records_skipped.size(), kErrorCodes);
  for (const auto& [reason, count] : report.records_skipped) EXPECT_EQ(count, 1U) << reason;
}

}  // namespace
}  // namespace millrace
