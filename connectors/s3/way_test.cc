// SPDX-License-Identifier: Apache-2.0
// What explain tells of the S3 source and sink, worked out by hand from their options.
#include "connectors/s3/way.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "connectors/s3/sink_options_fixture.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::uint64_t kKi = std::uint64_t{1} << 10U;
constexpr std::uint64_t kMi = std::uint64_t{1} << 20U;

SourceWay way(const std::function<void(S3SourceOptions&)>& change = nullptr) {
  S3SourceOptions options;
  options.url = "s3://b/in/";
  options.checkpoint.url = "s3://b/ck/m.json";
  if (change) change(options);
  auto settings = s3_source::settle(std::move(options));
  EXPECT_TRUE(settings) << settings.error().message();
  return settings ? s3_source::way_of(*settings) : SourceWay{};
}
std::vector<std::string> told(const SourceWay& way) {
  std::vector<std::string> lines;
  for (const StageRow& row : way.rows) lines.push_back(std::string(name_of(row.stage)) + ": " + row.here);
  return lines;
}

TEST(S3Way, TheSourceHasFiveRows) {
  const SourceWay made = way([](S3SourceOptions& o) {
    o.lanes = 2;
    o.compression = ObjectCodec::zstd;
    o.max_record_bytes = {kMi};
    o.shard = S3SourceOptions::Shard{1, 3};
    o.receipt.url = "s3://b/r/r.ndjson";
    o.store = {{"secret_access_key", "hunter2"}, {"access_key_id", "AKIDEXAMPLE"}};
  });
  EXPECT_THAT(told(made),
              ElementsAre("get: s3 source s3://b/in/, shard 1 of 3; reads of 2.0 MiB at most, 64 at a time "
                          "(requests_in_flight)",
                          "codec: zstd (compression)",
                          "framing: ndjson (format), records of 1.0 MiB at most (max_record_bytes)",
                          "source: 2 lanes (lanes), to which the objects that are listed are dealt in turn",
                          "commit: manifest s3://b/ck/m.shard-1-of-3.json, receipt s3://b/r/r.shard-1-of-3.ndjson"));
  EXPECT_THAT(told(made), Each(AllOf(Not(HasSubstr("hunter2")), Not(HasSubstr("AKIDEXAMPLE")))));
  EXPECT_EQ(made.lanes, 2U);
  EXPECT_EQ(made.longest_record, kMi);
  EXPECT_EQ(way([](S3SourceOptions& o) { o.compression = ObjectCodec::none; }).rows[1].here,
            "none: bytes as they are stored (compression)");
  EXPECT_THAT(way().rows[1].here,
              AllOf(HasSubstr("gzip, zstd, "), HasSubstr("none: by name, Content-Encoding and first bytes")));
}

// As a plan counts them, with everything that only a listing tells at its largest.
TEST(S3Way, INV7_TheSettingsBoundWhatIsHeld) {
  const SourceWay made = way([](S3SourceOptions& o) {
    o.lanes = 3;
    o.compression = ObjectCodec::zstd;
    o.zstd_window_log_max = 20;
    o.max_record_bytes = {kMi};
    o.prefetch_bytes = {4 * kMi};
    o.chunk_bytes = {kMi};
    o.requests_in_flight = 8;
  });
  std::map<std::string, MemoryPart> parts;
  for (const MemoryPart& part : made.memory) {
    EXPECT_TRUE(part.stage) << part.what;
    parts[part.what] = part;
  }
  EXPECT_EQ(parts.at("read ahead").bytes, 12 * kMi);
  EXPECT_EQ(parts.at("read ahead").stage, DataStage::get);
  // A pool of 12 MiB holds 24576 reads of no byte (512 each), and one a lane more; or 6 of 2 MiB, likewise.
  EXPECT_EQ(parts.at("reads").bytes, (24'576 + 3) * kKi + 2 * (6 + 3) * 16 * kKi);
  EXPECT_EQ(parts.at("chunks at work").bytes, 3 * (2 * kMi + 16 * kKi + 64));
  EXPECT_EQ(parts.at("windows").bytes, 3 * 512 * kKi);
  EXPECT_EQ(parts.at("windows").stage, DataStage::codec);
  EXPECT_EQ(parts.at("long records").bytes, 2 * 3 * kMi);
  EXPECT_EQ(parts.at("long records").stage, DataStage::framing);
  EXPECT_EQ(parts.at("decoders").bytes, 3 * (kMi + kMi)) << "a window of 1 MiB each, and tables";
  EXPECT_EQ(parts.at("connections").bytes, 8 * 640 * kKi);
  EXPECT_EQ(parts.at("listing"),
            (MemoryPart{"listing", 100, "beside its key", DataStage::source, MemoryPart::Each::object}));
  EXPECT_FALSE(parts.contains("receipt"));
  const auto plain = way([](S3SourceOptions& o) { o.compression = ObjectCodec::none; });
  EXPECT_THAT(plain.memory, Each(::testing::Field(&MemoryPart::what, Not("decoders"))));
}

TEST(S3Way, WhereTheSinkWrites) {
  EXPECT_EQ(s3_sink::place_of(s3_sink::accepted(s3_sink::kPlace)), "s3 sink puts objects below s3://b/out/");
  EXPECT_EQ(s3_sink::place_of(s3_sink::accepted("bucket: b\ndelivery: exactly_once\nmax_file_size: 1GiB\n"
                                                "secret_access_key: hunter2\naccess_key_id: AKIDEXAMPLE\n")),
            "s3 sink puts objects below s3://b/, above 64.0 MiB in parts (multipart_threshold); delivery: "
            "exactly_once");
}

}  // namespace
}  // namespace millrace
