// SPDX-License-Identifier: Apache-2.0
// Property: for random prefixes of any format, lanes, read sizes, batch sizes, points of death and commits, a resumed
// run reads exactly what was not committed. The expected records are those that objects were put together from, and the
// deal's, not the source's.
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

struct Object {
  std::string text;
  std::vector<std::string> records;
};

/// Lines of all kinds, blank ones, some without an end.
Object any_ndjson() {
  std::string text;
  const int lines = *rc::gen::inRange(0, 12);
  for (int i = 0; i < lines; ++i) {
    text += *rc::gen::element<std::string>("", " ", "{\"n\":1}", "xyzzy", std::string(70, 'l'), "a\rb");
    text += *rc::gen::element<std::string>("\n", "\n", "\r\n", i + 1 == lines ? "" : "\n");
  }
  return {text, ndjson::model_of_lines(text, SIZE_MAX).records};
}

/// Records of `elements` between `first` and `last`, with `separators` in between.
Object any_sequence(const std::string& first, const std::vector<std::string>& elements,
                    const std::vector<std::string>& separators, const std::vector<std::string>& last) {
  Object object{first, {}};
  const int records = *rc::gen::inRange(0, 12);
  for (int i = 0; i < records; ++i) {
    if (i != 0) object.text += *rc::gen::elementOf(separators);
    object.text += object.records.emplace_back(*rc::gen::elementOf(elements));
  }
  // What would end a record is one of its own without it, to `lines`.
  if (records != 0 || !first.empty()) object.text += *rc::gen::elementOf(last);
  return object;
}

Object any_object(const std::string& format) {
  const std::string longer(70, 'l');
  if (format == "lines") {
    return any_sequence("", {"{\"n\":1}", " ", "xyzzy", longer, "a\rb"}, {"\n", "\r\n"}, {"", "\n", "\r\n"});
  }
  if (format == "json_array") {
    return any_sequence(" [ ", {"{\"n\":[1]}", "\"],\\\"\"", "-1.5", "\"" + longer + "\"", "[ [],{} ]"}, {",", " ,\n"},
                        {"]", " ]\n "});
  }
  if (format == "csv") {
    return any_sequence("a,\"b\n\"\n", {"1,2", "\"x\n,\"\"y\",", longer + ",", "\"\",\"\r\n\""}, {"\n", "\r\n", "\n\n"},
                        {"", "\n"});
  }
  return any_ndjson();
}

/// What the gzip program made of one object of each format.
struct Compressed {
  Object object;
  std::string bytes;
};
std::map<std::string, std::vector<Compressed>> compressed_objects() {
  const std::string bom = "\xEF\xBB\xBF";
  const std::map<std::string, std::vector<Object>> objects{
      {"ndjson",
       {{"", {}},
        {"1\n2\n3\n", {"1", "2", "3"}},
        {"1\n\n2", {"1", "2"}},
        {bom + "1\n2\n3\n4\n5\n6\n7\n8\n9\n", {"1", "2", "3", "4", "5", "6", "7", "8", "9"}}}},
      {"lines", {{"", {}}, {"1\n\n2", {"1", "", "2"}}}},
      {"json_array", {{"", {}}, {"[]", {}}, {bom + "[1,{\"a\":\"]\"},[2]]", {"1", "{\"a\":\"]\"}", "[2]"}}}},
      {"csv", {{"", {}}, {"a", {}}, {bom + "a\n1\n\"2\n3\"\n", {"1", "\"2\n3\""}}}}};
  std::map<std::string, std::vector<Compressed>> all;
  for (const auto& [format, list] : objects) {
    for (const Object& object : list) all[format].push_back({object, gzip_of(object.text)});
  }
  return all;
}

struct Prefix {
  std::shared_ptr<MemoryStore> store = std::make_shared<MemoryStore>();
  std::map<std::string, std::vector<std::string>> records;  // by key, sorted bytewise
};

Prefix any_prefix(const std::string& format, const std::vector<Compressed>& compressed) {
  Prefix prefix;
  const int objects = *rc::gen::inRange(0, 9);
  for (int i = 0; i < objects; ++i) {
    std::string key = "in/" + *rc::gen::element<std::string>("a", "b/", "c ", "\xC3\xA9", "") +
                      std::to_string(*rc::gen::inRange(0, 30));
    if (*rc::gen::inRange(0, 5) == 0) {
      const Compressed& one = compressed[*rc::gen::inRange<std::size_t>(0, compressed.size())];
      key += ".gz";
      prefix.records[key] = one.object.records;
      prefix.store->set(key, one.bytes);
    } else {
      const Object object = any_object(format);
      prefix.records[key] = object.records;
      prefix.store->set(key, object.text);
    }
  }
  return prefix;
}

/// Every record with its lane and offset: object i of the sorted keys is number i / lanes of lane i % lanes.
std::vector<Record> all_records(const Prefix& prefix, std::uint64_t lanes) {
  std::vector<Record> all;
  std::uint64_t place = 0;
  for (const auto& [key, records] : prefix.records) {
    std::int64_t index = 0;
    for (const std::string& record : records) {
      all.push_back({static_cast<std::uint32_t>(place % lanes),
                     (static_cast<std::int64_t>(place / lanes) << 40) + index++, record, key});
    }
    ++place;
  }
  return all;
}

TEST(SourceProperty, INV1_AResumedRunReadsExactlyTheUncommittedRest) {
  const auto compressed = compressed_objects();
  EXPECT_TRUE(rc::check("killed and resumed", [&] {
    const auto format = *rc::gen::element<std::string>("ndjson", "ndjson", "lines", "json_array", "csv");
    const Prefix prefix = any_prefix(format, compressed.at(format));
    S3SourceOptions options;
    options.url = "s3://b/in/";
    options.format = format;
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
