// SPDX-License-Identifier: Apache-2.0
// What the tests of the S3 source on the fault server share: a server with the bucket "b", and sources on it.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "connectors/s3/backfill_rig.h"
#include "tests/s3_store/fixture.h"

namespace millrace::s3_source {

class SourceOnServer : public ::testing::Test {
 protected:
  using ServerFault = millrace::testing::ServerFault;
  using FaultServer = millrace::testing::FaultServer;
  using Lines = std::vector<std::string>;

  void SetUp() override { start(); }
  void start(millrace::testing::FaultServerOptions options = {}) {
    rig.reset();
    auto started = FaultServer::start(std::move(options));
    ASSERT_TRUE(started) << started.error().message();
    server = std::move(*started);
    server->create_bucket("b");
  }
  void put(const std::string& key, std::string bytes, millrace::testing::StoredObject attributes = {}) {
    server->put_object("b", key, std::move(bytes), std::move(attributes));
  }
  /// Plays a case on the objects: the manifest's own requests do not use its faults up.
  void play(std::string_view name) {
    server->add_fault("key=ck/manifest.json times=every");
    const auto loaded = server->load_case(name);
    ASSERT_TRUE(loaded) << loaded.error().message();
  }
  std::shared_ptr<ObjectStore> store(Duration no_progress_timeout = std::chrono::hours(1)) {
    auto options = s3::testing::options_for(*server);
    options.bucket = "b";
    options.no_progress_timeout = no_progress_timeout;
    auto made = s3::make_store(options, {});
    EXPECT_TRUE(made) << made.error().message();
    return *made;
  }
  /// A source of one lane that asks for whole objects, so that the tests know every request.
  BackfillRig& fresh(Duration no_progress_timeout = std::chrono::hours(1)) {
    rig = std::make_unique<BackfillRig>(store(no_progress_timeout));
    rig->options.lanes = 1;
    rig->options.chunk_bytes = {8U << 20U};
    return *rig;
  }
  void run(BackfillRig& source) { result = source.run(); }
  [[nodiscard]] std::string problem() const { return result ? "succeeded" : result.error().message(); }
  void expect_failed(ErrorCode code, const std::vector<std::string>& parts) {
    ASSERT_FALSE(result);
    EXPECT_TRUE(result.error().is_fatal());
    EXPECT_EQ(result.error().code(), code) << problem();
    for (const auto& part : parts) EXPECT_NE(problem().find(part), std::string::npos) << part << " in " << problem();
  }
  [[nodiscard]] Lines lines() const {
    Lines all;
    for (const Record& record : rig->records) all.push_back(record.bytes);
    return all;
  }
  [[nodiscard]] bool has_manifest() const { return server->object("b", "ck/manifest.json").has_value(); }
  [[nodiscard]] Manifest stored() const {
    const auto object = server->object("b", "ck/manifest.json");
    if (!object) return {};
    const auto manifest = parse_manifest(*object->bytes);
    EXPECT_TRUE(manifest) << manifest.error().message();
    return manifest.value_or(Manifest());
  }
  /// The GETs of the objects, without the manifest's.
  [[nodiscard]] std::vector<millrace::testing::LoggedRequest> gets() const {
    auto all = server->requests("GetObject");
    std::erase_if(all, [](const auto& request) { return !request.key.starts_with("in/"); });
    return all;
  }

  /// `count` lines of `width` bytes each, the newline included, and their text without it.
  static std::string numbered(std::size_t count, std::size_t width) {
    std::string bytes;
    for (std::size_t i = 0; i < count; ++i) bytes += fmt::format("{:0{}}\n", i, width - 1);
    return bytes;
  }
  static Lines numbered_lines(std::size_t count, std::size_t width) {
    Lines all;
    for (std::size_t i = 0; i < count; ++i) all.push_back(fmt::format("{:0{}}", i, width - 1));
    return all;
  }

  std::unique_ptr<FaultServer> server;
  std::unique_ptr<BackfillRig> rig;
  Result<void> result;
};

}  // namespace millrace::s3_source
