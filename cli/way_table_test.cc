// SPDX-License-Identifier: Apache-2.0
// The table as it is printed, and the document with the same in it.
#include "cli/way_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace millrace::cli {
namespace {

using Json = nlohmann::json;

DataWay small() {
  using Each = MemoryPart::Each;
  DataWay way;
  way.rows = {{.stage = DataStage::get,
               .here = "wells",
               .thread = "fetch I/O",
               .threads = 2,
               .holds = {{"fetched", 2048, "lanes x 2", DataStage::get, Each::lane}}},
              {.stage = DataStage::source,
               .here = "buckets",
               .thread = "lane",
               .holds = {{"listing", 100, "beside its key", DataStage::source, Each::object}}},
              {.stage = DataStage::checkpoint, .here = "a book", .thread = "control", .threads = 1, .holds = {}}};
  way.beside = {{"program", 1U << 20U, "code"}};
  return way;
}

TEST(WayTable, AsPeopleReadIt) {
  EXPECT_EQ(way_text(small(), {4096, "max_record_bytes"}),
            " #  stage       thread        what stands there, and what it holds at most\n"
            " 1  get         fetch I/O x2  wells\n"
            "         2.0 KiB a lane  fetched         lanes x 2\n"
            " 4  source      lane          buckets\n"
            "        100 B an object  listing         beside its key\n"
            "11  checkpoint  control       a book\n"
            "beside them\n"
            "                1.0 MiB  program         code\n"
            "for records of 4.0 KiB at most (max_record_bytes)\n");
  EXPECT_THAT(way_text(small(), {4096, ""}),
              ::testing::EndsWith("for records of 4.0 KiB: nothing here bounds them, and longer ones take more\n"));
}

TEST(WayTable, AsProgramsReadIt) {
  const Json json =
      Json::parse(way_json(small(), {4096, "max_record_bytes"}, R"({"keys": [], "ok": true})"), nullptr, false);
  EXPECT_EQ(json, Json::parse(R"({
    "stages": [
      {"number": 1, "stage": "get", "thread": "fetch I/O", "threads": 2, "here": "wells",
       "holds": [{"what": "fetched", "bytes": 2048, "why": "lanes x 2", "each": "lane"}]},
      {"number": 4, "stage": "source", "thread": "lane", "here": "buckets",
       "holds": [{"what": "listing", "bytes": 100, "why": "beside its key", "each": "object"}]},
      {"number": 11, "stage": "checkpoint", "thread": "control", "threads": 1, "here": "a book", "holds": []}],
    "beside": [{"what": "program", "bytes": 1048576, "why": "code"}],
    "record": {"bytes": 4096, "option": "max_record_bytes"},
    "keys": [], "ok": true})"));
  EXPECT_FALSE(Json::parse(way_json(small(), {1, ""}, ""), nullptr, false)["record"].contains("option"));
}

}  // namespace
}  // namespace millrace::cli
