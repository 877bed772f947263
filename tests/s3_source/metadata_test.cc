// SPDX-License-Identifier: Apache-2.0
// Goal: bucket, key, ETag, time of change and index in the object reach an operator and an encoder of an author's own,
// record by record. Method: a pipeline on the fault server; what is expected comes from the server's objects.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "millrace/connectors/s3.h"
#include "millrace/decode/raw.h"
#include "millrace/encode/encode.h"
#include "millrace/ops/ops.h"
#include "millrace/pipeline/compile.h"
#include "millrace/pipeline/pipeline.h"
#include "millrace/record/record_index.h"
#include "millrace/testing/capture_sink.h"
#include "tests/s3_store/fixture.h"

namespace millrace::s3_source {
namespace {

using testing::Capture;
using testing::CaptureSink;

/// What an author can know of where a record came from.
std::string place_of(const RecordMeta& meta) {
  if (meta.origin == nullptr) return "nowhere";
  const auto index = record_index(meta);
  return fmt::format("{} {} {} {} {}", meta.origin->bucket, meta.origin->object, meta.origin->etag,
                     meta.origin->last_modified, index ? fmt::format("{}", *index) : "no record");
}

struct Places : ::testing::Test {
  Places() {
    std::string pattern = (std::filesystem::temp_directory_path() / "millrace-XXXXXX").string();
    folder = ::mkdtemp(pattern.data());
    server = *testing::FaultServer::start({});
    server->create_bucket("b");
    server->put_object("b", "in/a.ndjson", "\n{\"n\":0}\n\n{\"n\":1}\n");
    server->put_object("b", "in/b c.ndjson", "{\"n\":2}\n{\"n\":3}");
  }
  ~Places() override { std::filesystem::remove_all(folder); }
  S3SourceOptions source() const {
    S3SourceOptions options;
    options.url = "s3://b/in/";
    options.checkpoint.url = "file://" + folder.string() + "/position.json";
    options.store = {{"endpoint", server->endpoint()},
                     {"region", server->options().region},
                     {"access_key_id", server->options().access_key},
                     {"secret_access_key", server->options().secret_key}};
    return options;
  }
  /// As the listing of the same store names them; each record is seen twice, each time behind both.
  std::vector<std::string> expected() const {
    auto options = s3::testing::options_for(*server);
    options.bucket = "b";
    std::vector<std::string> all;
    const auto page = (*s3::make_store(options, {}))->list({.prefix = "in/"});
    for (const auto& object : page->objects) {
      EXPECT_FALSE(object.etag.value.empty());
      EXPECT_NE(object.last_modified, kNoTimestamp);
      for (int index = 0; index < 2; ++index) {
        const auto place = fmt::format("b {} {} {} {}", object.key, object.etag.value, object.last_modified, index);
        all.insert(all.end(), 2, "operator: " + place + ", encoder: " + place);
      }
    }
    std::ranges::sort(all);
    return all;
  }

  std::filesystem::path folder;
  std::unique_ptr<testing::FaultServer> server;
};

TEST_F(Places, ReachOperatorsAndEncoders) {
  const auto capture = std::make_shared<Capture>();
  PipelineOptions settings;
  settings.name = "backfill";
  Pipeline pipeline(settings);
  pipeline.sink(CaptureSink::make(capture, {})).chain([](const ChainContext&) {
    return decode::raw() | ops::flat_map([](const auto& /*record*/, const RecordMeta& meta) {
             return std::vector<std::string>(2, "operator: " + place_of(meta));
           }) |
           encode::with([](const std::string& seen, const RecordMeta& meta, ByteBuffer& out) -> Result<void> {
             out.append(seen + ", encoder: " + place_of(meta) + "\n");
             return {};
           });
  });
  const RunReport report = pipeline.run(S3Source::make(source()));
  ASSERT_EQ(report.state, ExitState::completed) << (report.error ? report.error->describe() : "");
  auto written = capture->lines();
  std::ranges::sort(written);
  EXPECT_EQ(written, expected());
}

TEST(RecordIndex, IsOfRecordsOfObjectsOnly) {
  RecordMeta meta;
  meta.offset = Offset(7);
  EXPECT_EQ(record_index(meta), std::nullopt);
  Origin stream;
  stream.topic = "orders";
  meta.origin = &stream;
  EXPECT_EQ(record_index(meta), std::nullopt);
  Origin object;
  object.object = "in/a";
  object.first_offset = Offset(5);
  meta.origin = &object;
  EXPECT_EQ(record_index(meta), 2U);
}

}  // namespace
}  // namespace millrace::s3_source
