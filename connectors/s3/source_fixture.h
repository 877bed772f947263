// SPDX-License-Identifier: Apache-2.0
// What the tests of the S3 source share: a memory store with numbered objects, and the manifest that lies in it.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "connectors/s3/backfill_rig.h"

namespace millrace::s3_source {

inline constexpr const char* kManifest = "ck/manifest.json";

class SourceTest : public ::testing::Test {
 protected:
  /// `objects` objects of `lines` lines each.
  void fill(int objects, int lines = 3, const std::string& folder = "in/") {
    for (int i = 0; i < objects; ++i) memory->set(key(i, folder), body(i, lines));
  }
  static std::string key(int i, const std::string& folder = "in/") { return fmt::format("{}o{:03}.ndjson", folder, i); }
  static std::string body(int i, int lines = 3) {
    std::string text;
    for (int line = 0; line < lines; ++line) text += fmt::format("{{\"o\":{},\"l\":{}}}\n", i, line);
    return text;
  }
  static std::vector<std::string> lines_of(int i, int lines = 3) {
    std::vector<std::string> all;
    for (int line = 0; line < lines; ++line) all.push_back(fmt::format("{{\"o\":{},\"l\":{}}}", i, line));
    return all;
  }
  Manifest stored() {
    const auto manifest = parse_manifest(memory->contents().at(kManifest));
    EXPECT_TRUE(manifest) << manifest.error().message();
    return manifest.value_or(Manifest());
  }
  static std::string message_of(const Result<void>& result) { return result ? "succeeded" : result.error().message(); }

  std::shared_ptr<testing::MemoryStore> memory = std::make_shared<testing::MemoryStore>();
};

}  // namespace millrace::s3_source
