// SPDX-License-Identifier: Apache-2.0
// Property: whatever is wrong with which objects, whatever the lanes, reads and batches, and wherever runs are killed:
// of each object the records before its fault are delivered, no other is, and the manifest names exactly the faulty
// ones. The model knows the records that the objects were made of and the index of the first that cannot be had.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <xxhash.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "connectors/s3/compressed_by.h"
#include "connectors/s3/source_fixture.h"

namespace millrace::s3_source {
namespace {

using millrace::testing::MemoryStore;
using millrace::testing::StoreOp;

constexpr std::size_t kLongest = 20;  // of a record, in bytes

struct Modelled {
  std::vector<std::string> records;  // before the fault, or all
  std::string code;                  // of the fault; empty: there is none
};

struct Prefix {
  std::shared_ptr<MemoryStore> store = std::make_shared<MemoryStore>();
  std::map<std::string, Modelled> objects;
  std::set<std::string> gone;  // deleted behind the listing
};

std::string line(int object, int index) { return fmt::format("{}:{}", object, index); }

std::string text_of(const std::vector<std::string>& records) {
  std::string text;
  for (const std::string& record : records) text += record + "\n";
  return text;
}

/// One gzip member for each number of records, as the gzip program makes it, and what cannot follow one.
const std::string& member(std::size_t records) {
  static std::map<std::size_t, std::string> made;
  std::string& bytes = made[records];
  if (bytes.empty()) {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < records; ++i) all.push_back(line(-1, static_cast<int>(i)));
    bytes = gzip_of(text_of(all));
  }
  return bytes;
}

Prefix any_prefix() {
  Prefix prefix;
  const int objects = *rc::gen::inRange(1, 9);
  for (int i = 0; i < objects; ++i) {
    std::string key = fmt::format("in/{:02}", i);
    Modelled object;
    const int records = *rc::gen::inRange(0, 30);
    for (int n = 0; n < records; ++n) object.records.push_back(line(i, n));
    std::string text = text_of(object.records);
    switch (*rc::gen::inRange(0, 8)) {
      case 0:
        object.code = "malformed";
        text += "bad\n" + line(i, records) + "\n";
        break;
      case 1:
        object.code = "too_large";
        text += std::string(kLongest + 1, 'x') + "\n" + line(i, records) + "\n";
        break;
      case 2:
        object.code = "corrupt";
        key += ".gz";
        object.records.clear();
        for (int n = 0; n < records; ++n) object.records.push_back(line(-1, n));
        text = member(static_cast<std::size_t>(records)) + "no gzip";
        break;
      case 3:
        if (text.empty()) break;
        object.code = "drift";
        object.records.clear();
        prefix.gone.insert(key);
        break;
      default:
        break;
    }
    prefix.store->set(key, text);
    prefix.objects[key] = std::move(object);
  }
  return prefix;
}

std::uint64_t hash_of(const std::vector<std::string>& records) {
  std::uint64_t hash = 0;
  for (const std::string& record : records) hash = XXH3_64bits_withSeed(record.data(), record.size(), hash);
  return hash;
}

RC_GTEST_PROP(Quarantine, INV1_ExactlyWhatIsBeforeEachFaultIsDelivered, ()) {
  Prefix prefix = any_prefix();
  const auto lanes = *rc::gen::inRange<std::uint64_t>(1, 4);
  const auto chunk = *rc::gen::inRange<std::size_t>(1, 100);
  const auto batch = *rc::gen::inRange<std::size_t>(1, 12);
  const int deaths = *rc::gen::inRange(0, 4);
  std::map<std::string, std::map<std::int64_t, std::string>> bytes;
  for (int life = 0; life <= deaths; ++life) {
    BackfillRig rig(prefix.store);
    rig.options.lanes = lanes;
    rig.options.on_object_error = OnObjectError::quarantine;
    rig.options.max_record_bytes = {kLongest};
    rig.options.chunk_bytes = {chunk};
    rig.options.prefetch_bytes = {chunk * *rc::gen::inRange<std::size_t>(1, 6)};
    rig.max_records = batch;
    rig.flags.take_over = true;
    rig.refuse = [](std::string_view record) { return record == "bad"; };
    for (const std::string& key : prefix.gone) {
      rig.store->add({.op = StoreOp::read,
                      .key = key,
                      .times = testing::Fault::kAlways,
                      .error = Error::fatal(ErrorCode::not_found, "NoSuchKey")});
    }
    const auto opened = rig.open();
    if (!opened) RC_FAIL(opened.error().describe());
    const bool dies = life < deaths;
    if (dies) {
      RC_ASSERT(rig.poll_records(*rc::gen::inRange<std::size_t>(0, 60)).has_value());
      if (*rc::gen::arbitrary<bool>()) {
        RC_ASSERT(rig.commit().has_value());
        RC_ASSERT(rig.poll_records(*rc::gen::inRange<std::size_t>(0, 20)).has_value());
      }
      rig.kill();
    } else {
      RC_ASSERT(rig.poll_records(SIZE_MAX).has_value());
      RC_ASSERT(rig.commit().has_value());
      rig.close();
    }
    for (const Record& record : rig.records) bytes[record.object][record.offset] = record.bytes;
  }
  for (const auto& [key, object] : prefix.objects) {
    std::vector<std::string> got;
    for (const auto& [offset, record] : bytes[key]) got.push_back(record);
    RC_ASSERT(got == object.records);
  }
  const auto manifest = parse_manifest(prefix.store->contents().at(kManifest));
  RC_ASSERT(manifest.has_value());
  RC_ASSERT(manifest->complete);
  std::map<std::string, QuarantinedObject> named;
  for (const QuarantinedObject& aside : manifest->quarantined) named[aside.key] = aside;
  for (const auto& [key, object] : prefix.objects) {
    RC_ASSERT(named.contains(key) == !object.code.empty());
    if (object.code.empty()) continue;
    const QuarantinedObject& aside = named.at(key);
    RC_ASSERT(aside.code == object.code);
    RC_ASSERT(aside.records == object.records.size());
    RC_ASSERT(aside.records_hash == hash_of(object.records));
  }
  RC_ASSERT(named.size() == manifest->quarantined.size());
}

}  // namespace
}  // namespace millrace::s3_source
