// SPDX-License-Identifier: Apache-2.0
// Property: for random prefixes, lanes, read sizes, batch sizes, points of death and commits, a resumed run reads
// exactly what was not committed. The expected records come from the line model and the deal, not from the source.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "connectors/s3/compressed_by.h"
#include "connectors/s3/source_fixture.h"
#include "formats/ndjson/line_model.h"

namespace millrace::s3_source {
namespace {

using millrace::testing::MemoryStore;

/// One object's text: lines of all kinds, blank ones, some without an end.
std::string any_text() {
  std::string text;
  const int lines = *rc::gen::inRange(0, 12);
  for (int i = 0; i < lines; ++i) {
    text += *rc::gen::element<std::string>("", " ", "{\"n\":1}", "xyzzy", std::string(70, 'l'), "a\rb");
    text += *rc::gen::element<std::string>("\n", "\n", "\r\n", i + 1 == lines ? "" : "\n");
  }
  return text;
}

struct Prefix {
  std::shared_ptr<MemoryStore> store = std::make_shared<MemoryStore>();
  std::map<std::string, std::string> texts;  // by key, sorted bytewise
};

Prefix any_prefix(const std::vector<std::pair<std::string, std::string>>& compressed) {
  Prefix prefix;
  const int objects = *rc::gen::inRange(0, 9);
  for (int i = 0; i < objects; ++i) {
    std::string key = "in/" + *rc::gen::element<std::string>("a", "b/", "c ", "\xC3\xA9", "") +
                      std::to_string(*rc::gen::inRange(0, 30));
    if (*rc::gen::inRange(0, 5) == 0) {
      const auto& [text, bytes] = *rc::gen::elementOf(compressed);
      key += ".gz";
      prefix.texts[key] = text;
      prefix.store->set(key, bytes);
    } else {
      prefix.texts[key] = any_text();
      prefix.store->set(key, prefix.texts[key]);
    }
  }
  return prefix;
}

/// Every record with its lane and offset: object i of the sorted keys is number i / lanes of lane i % lanes.
std::vector<Record> all_records(const Prefix& prefix, std::uint64_t lanes) {
  std::vector<Record> all;
  std::uint64_t place = 0;
  for (const auto& [key, text] : prefix.texts) {
    std::int64_t index = 0;
    for (const std::string& line : ndjson::model_of_lines(text, SIZE_MAX).records) {
      all.push_back({static_cast<std::uint32_t>(place % lanes),
                     (static_cast<std::int64_t>(place / lanes) << 40) + index++, line, key});
    }
    ++place;
  }
  return all;
}

TEST(SourceProperty, INV1_AResumedRunReadsExactlyTheUncommittedRest) {
  std::vector<std::pair<std::string, std::string>> compressed;
  for (const char* text : {"", "1\n2\n3\n", "1\n\n2",
                           "\xEF\xBB\xBF"
                           "1\n2\n3\n4\n5\n6\n7\n8\n9\n"}) {
    compressed.emplace_back(text, gzip_of(text));
  }
  EXPECT_TRUE(rc::check("killed and resumed", [&] {
    const Prefix prefix = any_prefix(compressed);
    S3SourceOptions options;
    options.url = "s3://b/in/";
    options.checkpoint.url = "s3://b/ck/manifest.json";
    options.lanes = *rc::gen::inRange<std::uint64_t>(1, 6);
    options.chunk_bytes = {*rc::gen::inRange<std::uint64_t>(1, 100)};
    options.prefetch_bytes = {options.chunk_bytes.bytes * *rc::gen::inRange<std::uint64_t>(1, 5)};
    options.requests_in_flight = *rc::gen::inRange<std::uint64_t>(1, 9);
    const std::vector<Record> all = all_records(prefix, options.lanes);

    std::map<std::uint32_t, std::int64_t> committed;
    const int runs = *rc::gen::inRange(1, 4);
    for (int run = 0; run < runs; ++run) {
      BackfillRig rig(prefix.store);
      rig.options = options;
      rig.flags.take_over = true;
      rig.max_records = *rc::gen::inRange<std::size_t>(1, 6);
      rig.hold_acks = true;
      RC_ASSERT(rig.open().has_value());
      // Some polls of some lanes, some of their batches acknowledged, some of that committed; then death.
      const int steps = *rc::gen::inRange(0, 30);
      for (int step = 0; step < steps; ++step) {
        const auto lane = *rc::gen::inRange<std::size_t>(0, options.lanes);
        RC_ASSERT(rig.poll(lane).has_value());
        if (*rc::gen::inRange(0, 3) == 0) rig.acknowledge(lane, *rc::gen::inRange<std::size_t>(0, 4));
        if (*rc::gen::inRange(0, 8) == 0) RC_ASSERT(rig.commit().has_value());
      }
      // What it read are records of the model, from where the run before was committed, in order.
      for (const Record& record : rig.records) RC_ASSERT(std::ranges::find(all, record) != all.end());
      for (const auto& [lane, watermark] : rig.committed) committed[lane] = watermark;
      rig.kill();
    }

    BackfillRig last(prefix.store);
    last.options = options;
    last.flags.take_over = true;
    last.max_records = *rc::gen::inRange<std::size_t>(1, 6);
    RC_ASSERT(last.run().has_value());
    std::vector<Record> expected;
    for (const Record& record : all) {
      const auto at = committed.find(record.lane);
      if (at == committed.end() || record.offset >= at->second) expected.push_back(record);
    }
    auto got = last.records;
    std::ranges::sort(got);
    std::ranges::sort(expected);
    RC_ASSERT(got == expected);
    // In order within each lane, and the manifest says that everything is done.
    std::map<std::uint32_t, std::int64_t> before;
    for (const Record& record : last.records) {
      const auto [at, first] = before.try_emplace(record.lane, record.offset);
      RC_ASSERT(first || at->second < record.offset);
      at->second = record.offset;
    }
    RC_ASSERT(parse_manifest(prefix.store->contents().at("ck/manifest.json"))->complete);
  }));
}

}  // namespace
}  // namespace millrace::s3_source
