// SPDX-License-Identifier: Apache-2.0
// INV-7: what is held behind a source, worked out by hand for sinks that say what they write.
#include "pipeline/memory_bound.h"

#include <gtest/gtest.h>

#include <map>

namespace millrace {
namespace {

constexpr std::uint64_t kMi = std::uint64_t{1} << 20U;

/// A sink that only says how it is written to.
class ToldSink final : public Sink {
 public:
  SealPolicy policy;
  EncodeSpec spec;
  SinkTraits all_traits;
  std::string_view type() const override { return "told"; }
  Result<void> open(SinkContext /*context*/) override {
    return fail(Error::fatal(ErrorCode::rule_broken, "a plan opens no sink"));
  }
  Result<std::unique_ptr<Writer>> make_writer() override {
    return fail(Error::fatal(ErrorCode::rule_broken, "a plan makes no writer"));
  }
  SealPolicy seal_policy() const override { return policy; }
  EncodeSpec encode_spec() const override { return spec; }
  SinkTraits traits() const override { return all_traits; }
};

std::map<std::string, std::uint64_t> parts_of(const ToldSink& sink, std::uint64_t lanes, std::uint64_t record) {
  PipelineOptions options;
  options.max_inflight_bytes = 100 * kMi;
  options.max_pending_batches = 1000;
  std::map<std::string, std::uint64_t> all;
  for (const MemoryPart& part : memory_bound(options, sink, lanes, record)) all[part.what] = part.bytes;
  return all;
}

TEST(MemoryBound, INV7_ChunksAreAsLargeAsTheirLimitAndOneRecord) {
  ToldSink sink;
  sink.policy.max_bytes = 8 * kMi;
  sink.spec.format = EncodeFormat::raw;
  sink.spec.delimiter = "\n";
  sink.all_traits.concurrency = 3;
  const auto parts = parts_of(sink, 4, 2 * kMi);
  EXPECT_EQ(parts.at("open output"), 4 * (10 * kMi + 1));
  EXPECT_EQ(parts.at("sealed output"), 100 * kMi + 10 * kMi + 1);
  EXPECT_EQ(parts.at("spare output"), 6 * (10 * kMi + 1));
  EXPECT_EQ(parts.at("writers"), 3 * kMi);
  EXPECT_EQ(parts.at("positions"), 4U * 1000 * 192);
}

// A giant record makes a giant chunk, but its buffer is not kept for the next.
TEST(MemoryBound, INV7_SpareBuffersAreOfTheUsualSize) {
  ToldSink sink;
  sink.policy.max_bytes = 8 * kMi;
  sink.spec.format = EncodeFormat::json_lines;
  sink.all_traits.concurrency = 1;
  const auto parts = parts_of(sink, 1, 64 * kMi);
  EXPECT_EQ(parts.at("open output"), 8 * kMi + 128 * kMi + 1024) << "a JSON record may double";
  EXPECT_EQ(parts.at("spare output"), 2 * 16 * kMi);
}

TEST(MemoryBound, INV7_WhatIsOnlyCountedHasNoBytes) {
  ToldSink sink;
  sink.spec.format = EncodeFormat::discard;
  const auto parts = parts_of(sink, 2, 64 * kMi);
  EXPECT_FALSE(parts.contains("open output"));
  EXPECT_EQ(parts.at("sealed output"), 2U * 1000 * 512);
}

TEST(MemoryBound, INV7_WithoutALimitOfBytesTheRecordsBoundAChunk) {
  ToldSink sink;
  sink.policy.max_bytes = 0;
  sink.policy.max_records = 10;
  sink.spec.delimiter = "";
  EXPECT_EQ(parts_of(sink, 1, 1000).at("open output"), 11'000U);
  EXPECT_EQ(parts_of(sink, UINT64_MAX, UINT64_MAX).at("open output"), UINT64_MAX) << "and nothing wraps around";
}

}  // namespace
}  // namespace millrace
