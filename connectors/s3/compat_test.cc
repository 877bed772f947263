// SPDX-License-Identifier: Apache-2.0
// compat: iggy gives the defaults of the connector that this sink takes the place of (ADR-0017), and
// only these: what is given stands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "connectors/s3/sink_options_fixture.h"

namespace millrace::s3_sink {
namespace {

using testing::HasSubstr;

std::string iggy(const std::string& more = "") { return with("compat: iggy\n" + more); }

TEST(S3SinkCompat, OneLimitNoAgeOverwriteRawWithoutDelimiter) {
  const CheckedOptions by_size = accepted(iggy());
  EXPECT_EQ(by_size.seal.max_bytes, 8U * 1024 * 1024);
  EXPECT_EQ(by_size.seal.max_records, 0U);
  EXPECT_EQ(by_size.seal.uncounted, 1U);
  EXPECT_EQ(by_size.seal.max_age, Duration(0));
  EXPECT_EQ(by_size.seal.max_idle, Duration(0));
  EXPECT_EQ(by_size.if_exists, IfExists::overwrite);
  const CheckedOptions by_count = accepted(iggy("file_rotation: messages\nmax_messages_per_file: 10\n"));
  EXPECT_EQ(by_count.seal.max_bytes, 0U);
  EXPECT_EQ(by_count.seal.max_records, 10U);
  EXPECT_TRUE(by_count.may_need_parts()) << "ten messages may be larger than one request takes";
  const CheckedOptions raw = accepted(iggy("output_format: raw\n"));
  EXPECT_EQ(raw.encode.delimiter, "");
  EXPECT_EQ(raw.seal.uncounted, 0U);
  EXPECT_EQ(accepted(iggy("output_format: json_array\n")).seal.uncounted, 1U);
}

TEST(S3SinkCompat, WhatIsGivenStands) {
  const CheckedOptions o =
      accepted(iggy("max_file_age: 1m\nif_exists: verify\noutput_format: raw\ndelimiter: \"|\"\n"));
  EXPECT_EQ(o.seal.max_age, std::chrono::minutes(1));
  EXPECT_EQ(o.if_exists, IfExists::verify);
  EXPECT_EQ(o.encode.delimiter, "|");
}

// The seed reads such a limit and never uses it; its reviewer asked for an error.
TEST(S3SinkCompat, ALimitThatIsNeverUsedIsRefused) {
  EXPECT_THAT(refused(iggy("max_messages_per_file: 10\n")),
              HasSubstr("p.yaml:5:28: sink.s3.max_messages_per_file: has no effect with compat iggy"));
  EXPECT_THAT(refused(iggy("file_rotation: messages\nmax_messages_per_file: 1\nmax_file_size: 1MiB\n")),
              HasSubstr("sink.s3.max_file_size: has no effect with compat iggy"));
  EXPECT_THAT(refused(iggy("file_rotation: messages\n")), HasSubstr("sink.s3.max_messages_per_file: is required"));
  EXPECT_THAT(refused(with("compat: igy\n")), HasSubstr("none|iggy"));
}

TEST(S3SinkCompat, WithoutItTheDefaultsAreOurs) {
  const CheckedOptions o = accepted(with("compat: none\n"));
  EXPECT_EQ(o.seal.uncounted, 0U);
  EXPECT_EQ(o.seal.max_age, std::chrono::minutes(5));
  EXPECT_EQ(o.if_exists, IfExists::verify);
  EXPECT_THAT(refused(with("output_format: raw\n")), HasSubstr("delimiter"));
}

}  // namespace
}  // namespace millrace::s3_sink
