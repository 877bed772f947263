// SPDX-License-Identifier: Apache-2.0
#include "millrace/record/record_flow.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace millrace {
namespace {

struct Lines final : LogSink {
  std::vector<std::string> lines;
  void write(LogLevel, std::string_view, std::string_view message, std::initializer_list<LogField> fields) override {
    std::string line(message);
    for (const LogField& field : fields) line += " | " + field.value;
    lines.push_back(std::move(line));
  }
};

Error bad(ErrorCode code) { return Error::record(code, "no good"); }

TEST(RecordFlow, INV6_SkipsAreCountedByReasonAndTheFirstOfEachIsLogged) {
  const auto lines = std::make_shared<Lines>();
  RecordFlow flow(Logger(lines, "chain"));
  const StageId stage = flow.add_stage("stage 1 (decode json)");
  RecordMeta meta;
  meta.offset = Offset(4);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(flow.reject(bad(ErrorCode::malformed), OnError::skip, stage, meta));
  EXPECT_TRUE(flow.reject(bad(ErrorCode::invalid_utf8), OnError::skip, stage, meta));
  EXPECT_EQ(flow.skipped(), (RecordFlow::Skips{{ErrorCode::malformed, 3}, {ErrorCode::invalid_utf8, 1}}));
  EXPECT_FALSE(flow.take_error().has_value());
  ASSERT_EQ(lines->lines.size(), 2U);
  EXPECT_EQ(lines->lines[0],
            "skipped a record, the first of its kind in this lane; others are counted | malformed | offset 4 of "
            "partition 0, stage 1 (decode json): no good");
  flow.clear_counts();
  EXPECT_TRUE(flow.skipped().empty());
  EXPECT_TRUE(flow.reject(bad(ErrorCode::malformed), OnError::skip, stage, meta));
  EXPECT_EQ(lines->lines.size(), 2U);
}

TEST(RecordFlow, INV6_AFailKeepsTheErrorWithItsPlace) {
  RecordFlow flow;
  const StageId stage = flow.add_stage("stage 2 (try_map)");
  RecordMeta meta;
  meta.partition = PartitionId(1);
  meta.offset = Offset(9);
  EXPECT_FALSE(flow.reject(bad(ErrorCode::wrong_type), OnError::fail, stage, meta));
  const auto error = flow.take_error();
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code(), ErrorCode::wrong_type);
  EXPECT_TRUE(error->is_record());
  EXPECT_EQ(error->message(), "offset 9 of partition 1, stage 2 (try_map): no good");
  EXPECT_FALSE(flow.take_error().has_value());
  EXPECT_TRUE(flow.skipped().empty());
}

TEST(RecordFlow, OnlyRecordErrorsAreSkipped) {
  RecordFlow flow;
  const StageId stage = flow.add_stage("stage 2 (try_map)");
  EXPECT_FALSE(flow.reject(Error::fatal(ErrorCode::internal, "x"), OnError::skip, stage, {}));
  EXPECT_TRUE(flow.take_error()->is_fatal());
  EXPECT_FALSE(flow.reject(Error::retryable(ErrorCode::timeout, "x"), OnError::skip, stage, {}));
}

}  // namespace
}  // namespace millrace
