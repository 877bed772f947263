// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "millrace/config/config.h"
#include "millrace/connectors/console.h"

namespace millrace {
namespace {

TEST(Blackhole, TakesEverythingAndKeepsNothing) {
  const auto sink = BlackholeSink::make();
  ASSERT_TRUE(sink);
  ASSERT_TRUE((*sink)->open({}));
  EXPECT_EQ((*sink)->encode_spec().format, EncodeFormat::discard);
  EXPECT_GT((*sink)->seal_policy().max_records, 0U) << "records without bytes must still be sealed";
  const auto writer = (*sink)->make_writer();
  ASSERT_TRUE(writer);
  SealedBatch batch;
  batch.chunk.bytes.append("12345");
  EXPECT_EQ((*writer)->write(batch)->bytes_written, 5U);
}

TEST(Blackhole, HasNoKeys) {
  const SinkKind kind = BlackholeSink::kind();
  const auto config = Config::parse("a: {}\nb: {x: 1}\n", "p.yaml");
  ASSERT_TRUE(config);
  EXPECT_TRUE(kind.validate(config->section("a")));
  EXPECT_FALSE(kind.validate(config->section("b")));
  EXPECT_TRUE(kind.make(config->section("a"), {}));
}

}  // namespace
}  // namespace millrace
