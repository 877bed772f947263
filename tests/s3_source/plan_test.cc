// SPDX-License-Identifier: Apache-2.0
// Goal: the requests that a plan counts are those that a run makes. Method: a run on a server that logs each of them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "connectors/s3/planner.h"
#include "tests/s3_source/source_on_server.h"

namespace millrace::s3_source {
namespace {

TEST_F(SourceOnServer, AsManyGetsAsWerePlanned) {
  auto& source = fresh();
  source.options.lanes = 3;
  source.options.chunk_bytes = {16U << 10U};
  source.options.prefetch_bytes = {256U << 10U};
  // Around the size of one read, which is four chunks: 64 KiB.
  std::size_t index = 0;
  for (const std::size_t lines : {1, 1023, 1024, 1025, 2048, 5000, 3, 0, 2047}) {
    put(fmt::format("in/{:02}.ndjson", index++), numbered(lines, 64));
  }
  const auto settings = settle(source.options);
  ASSERT_TRUE(settings) << settings.error().message();
  const auto plan = plan_backfill(*settings, {}, {}, [this](const StoreUrl&, const StoreOptions&, const StoreContext&) {
    return Result<std::shared_ptr<ObjectStore>>(store());
  });
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_EQ(plan->read_bytes, 64U << 10U);
  EXPECT_EQ(gets().size(), 0U) << "a plan reads no object";
  EXPECT_EQ(server->count("PutObject"), 0U);
  EXPECT_EQ(server->count("DeleteObject"), 0U);
  server->clear_log();

  run(source);
  ASSERT_TRUE(result) << problem();
  EXPECT_EQ(plan->left.reads, 1U + 1 + 1 + 2 + 2 + 5 + 1 + 0 + 2);
  EXPECT_EQ(gets().size(), plan->left.reads);
  EXPECT_EQ(server->count("ListObjectsV2"), plan->pages);
}

}  // namespace
}  // namespace millrace::s3_source
