// SPDX-License-Identifier: Apache-2.0
// Goal: what a writer reads of a chunk is what the lane put in, whatever bytes that were, and no record is larger than
// it may be. Method: records by hand, and a property over many.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "millrace/encode/framed.h"

namespace millrace::encode {
namespace {

struct Plain {
  std::string value;
  std::optional<std::string> key;
  std::vector<std::pair<std::string, std::string>> headers;
  std::int64_t timestamp = 0;
  friend bool operator==(const Plain&, const Plain&) = default;
};

Result<void> append(ByteBuffer& out, const Plain& plain, std::int64_t offset, std::size_t limit = 0) {
  std::vector<Header> headers;
  for (const auto& [name, value] : plain.headers) headers.push_back({name, value});
  RecordMeta meta;
  meta.offset = Offset(offset);
  meta.timestamp = plain.timestamp;
  meta.has_key = plain.key.has_value();
  if (plain.key) meta.key = *plain.key;
  meta.headers = headers.data();
  meta.header_count = headers.size();
  return append_framed(out, plain.value, meta, limit);
}

std::vector<Plain> read(std::string_view chunk) {
  std::vector<Plain> all;
  FramedReader reader(chunk);
  for (FramedRecord record; reader.next(record);) {
    EXPECT_EQ(record.offset, Offset(static_cast<std::int64_t>(all.size())));
    Plain& one = all.emplace_back();
    one.value = record.value;
    if (record.has_key) one.key = record.key;
    one.timestamp = record.timestamp;
    FramedHeaders headers(record);
    for (Header header; headers.next(header);) one.headers.emplace_back(header.name, header.value);
    EXPECT_EQ(one.headers.size(), record.header_count);
  }
  return all;
}

TEST(Framed, WhatIsPutInIsWhatComesOut) {
  EXPECT_TRUE(rc::check([](const std::vector<std::string>& values) {
    std::vector<Plain> put;
    ByteBuffer out;
    for (std::size_t i = 0; i < values.size(); ++i) {
      Plain one{values[i], std::nullopt, {}, static_cast<std::int64_t>(i) * 7 - 3};
      if (i % 3 != 0) one.key = values[values.size() - 1 - i];
      for (std::size_t h = 0; h < i % 4; ++h) one.headers.emplace_back(values[h], values[i]);
      RC_ASSERT(append(out, one, static_cast<std::int64_t>(i)).has_value());
      put.push_back(std::move(one));
    }
    RC_ASSERT(read(out.view()) == put);
  }));
}

// INV-1: what is no framed record is found out, and not read as one.
TEST(Framed, INV1_WhatIsCutOrForeignIsNoRecord) {
  ByteBuffer out;
  ASSERT_TRUE(append(out, {"value", "key", {{"name", "text"}}, 1}, 0));
  const std::size_t first = out.size();
  ASSERT_TRUE(append(out, {"v", std::nullopt, {}, 1}, 1));
  for (std::size_t size = 0; size <= out.size(); ++size) {
    FramedReader reader(out.view().substr(0, size));
    std::size_t records = 0;
    for (FramedRecord record; reader.next(record);) ++records;
    EXPECT_EQ(records, size < first ? 0U : size < out.size() ? 1U : 2U) << size;
    EXPECT_EQ(reader.at_end(), size == 0 || size == first || size == out.size()) << size;
  }
  for (const std::string& foreign : {std::string("hello\n"), std::string(48, 'x'), std::string(1000, '\xff')}) {
    FramedReader reader(foreign);
    FramedRecord record;
    EXPECT_FALSE(reader.next(record));
    EXPECT_FALSE(reader.at_end());
  }
}

TEST(Framed, AnEmptyKeyIsNotNone) {
  ByteBuffer out;
  ASSERT_TRUE(append(out, {"v", "", {}, 1}, 0));
  ASSERT_TRUE(append(out, {"", std::nullopt, {{"", ""}}, 1}, 1));
  const auto all = read(out.view());
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].key, "");
  EXPECT_FALSE(all[1].key);
}

TEST(Framed, ARecordThatIsTooLargeIsARecordErrorAndLeavesNothing) {
  ByteBuffer out;
  // A header's frame has 16 bytes.
  EXPECT_TRUE(append(out, {"12345", "67", {{"8", "9"}}, 1}, 0, 25));
  const std::size_t before = out.size();
  const auto refused = append(out, {"12345", "67", {{"8", "90"}}, 1}, 1, 25);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().is_record());
  EXPECT_EQ(refused.error().code(), ErrorCode::too_large);
  EXPECT_THAT(refused.error().message(), testing::AllOf(testing::HasSubstr("offset 1"), testing::HasSubstr("26 bytes"),
                                                        testing::HasSubstr("max_record_bytes of the sink is 25")));
  EXPECT_EQ(out.size(), before);
}

}  // namespace
}  // namespace millrace::encode
