// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/upload_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "millrace/testing/memory_store.h"

namespace millrace::s3_sink {
namespace {

using millrace::testing::MemoryStore;
using millrace::testing::StoreOp;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(UploadLedger, TheDocumentIsWhatThePageSays) {
  EXPECT_EQ(UploadLedger::to_json({{.key = "out/a", .id = "VXBs"}}),
            "{\"version\":1,\"uploads\":[{\"key\":\"out/a\",\"id\":\"VXBs\"}]}\n");
  const auto read = UploadLedger::from_json(R"({"version": 1, "uploads": [{"key": {"base64": "/w=="}, "id": "x"}]})");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_THAT(*read, ElementsAre(UploadId{.key = "\xff", .id = "x"}));
}

TEST(UploadLedger, WhatIsNoneIsRefused) {
  for (const char* text : {"", "x", "[]", "{}", R"({"version": 2, "uploads": []})", R"({"version": 1})",
                           R"({"version": 1, "uploads": [{"key": "a"}]})", R"({"version": 1, "uploads": [1]})",
                           R"({"version": 1, "uploads": [], "more": 1})"}) {
    EXPECT_FALSE(UploadLedger::from_json(text)) << text;
  }
  EXPECT_THAT(UploadLedger::from_json(R"({"version": 2, "uploads": []})").error().message(), HasSubstr("version"));
}

RC_GTEST_PROP(UploadLedger, AnyBytesComeBack, (std::vector<std::pair<std::string, std::string>> pairs)) {
  std::vector<UploadId> uploads;
  for (auto& [key, id] : pairs) uploads.push_back({.key = key, .id = id});
  const auto read = UploadLedger::from_json(UploadLedger::to_json(uploads));
  RC_ASSERT(read.has_value());
  RC_ASSERT(*read == uploads);
}

// Two writers of one partition: both uploads are noted, and what has ended is left out.
TEST(UploadLedger, NotesWhatIsUnderWay) {
  const auto memory = std::make_shared<MemoryStore>();
  UploadLedger ledger(memory, "p/", Logger());
  const UploadId one{.key = "a", .id = "1"};
  const UploadId two{.key = "b", .id = "2"};
  const UploadId three{.key = "c", .id = "3"};
  ASSERT_TRUE(ledger.add("7", one));
  ASSERT_TRUE(ledger.add("7", two));
  EXPECT_EQ(memory->contents().at("p/uploads-7.json"), UploadLedger::to_json({one, two}));
  ledger.forget("7", one);
  ASSERT_TRUE(ledger.add("7", three));
  EXPECT_EQ(memory->contents().at("p/uploads-7.json"), UploadLedger::to_json({two, three}));
  EXPECT_EQ(memory->count(StoreOp::get), 1U) << "looked up once";
}

// At a clean end; what is still under way stays noted.
TEST(UploadLedger, IsRemovedWhenNothingIsUnderWay) {
  const auto memory = std::make_shared<MemoryStore>();
  memory->set("p/uploads-9.json", UploadLedger::to_json({}));
  UploadLedger ledger(memory, "p/", Logger());
  const UploadId one{.key = "a", .id = "1"};
  const UploadId two{.key = "b", .id = "2"};
  ASSERT_TRUE(ledger.add("1", one));
  ASSERT_TRUE(ledger.add("2", two));
  ledger.forget("1", one);
  ledger.clear();
  EXPECT_FALSE(memory->contents().contains("p/uploads-1.json"));
  EXPECT_TRUE(memory->contents().contains("p/uploads-2.json"));
  EXPECT_TRUE(memory->contents().contains("p/uploads-9.json")) << "not ours";
}

TEST(UploadLedger, ADamagedOneIsNoReasonToStop) {
  const auto memory = std::make_shared<MemoryStore>();
  memory->set("p/uploads-0.json", "{\"version\": 1, \"upl");
  UploadLedger ledger(memory, "p/", Logger());
  EXPECT_TRUE(ledger.settle("0"));
  EXPECT_EQ(memory->count(StoreOp::abort_upload), 0U);
}

// An upload that the store has never heard of, or not any more.
TEST(UploadLedger, EndedUploadsAreNoError) {
  const auto memory = std::make_shared<MemoryStore>();
  memory->set("p/uploads-0.json", UploadLedger::to_json({{.key = "a", .id = "gone"}}));
  UploadLedger ledger(memory, "p/", Logger());
  EXPECT_TRUE(ledger.settle("0"));
  EXPECT_EQ(memory->count(StoreOp::abort_upload), 1U);
  EXPECT_THAT(memory->open_uploads(), IsEmpty());
  ledger.clear();
  EXPECT_TRUE(memory->contents().empty()) << "an earlier run's, which says nothing any more";
}

// Two that share a pipeline name and a prefix have other topics, whatever their names become in keys.
TEST(UploadLedger, SlotsAreApart) {
  const std::string slot = UploadLedger::slot_of("s", "t", PartitionId(7));
  EXPECT_THAT(slot, ::testing::MatchesRegex("[0-9a-f]{16}-00007"));
  EXPECT_NE(slot, UploadLedger::slot_of("s", "t2", PartitionId(7)));
  EXPECT_NE(slot, UploadLedger::slot_of("s2", "t", PartitionId(7)));
  EXPECT_NE(slot, UploadLedger::slot_of("s", "t", PartitionId(8)));
  EXPECT_NE(UploadLedger::slot_of("ab", "c", PartitionId(0)), UploadLedger::slot_of("a", "bc", PartitionId(0)));
}

}  // namespace
}  // namespace millrace::s3_sink
