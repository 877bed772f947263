// SPDX-License-Identifier: Apache-2.0
// Goal: a batch goes in requests that each have one partition, with the records of each in their order, and under ids
// that a record keeps. Method: batches by hand; partitions of keys as XXH32 of another implementation gives them.
#include "connectors/iggy/outgoing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "connectors/iggy/outgoing_fixture.h"
#include "millrace/iggy_client/user_headers.h"

namespace millrace::iggy_sink {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Request {
  iggy::Partitioning to;
  std::vector<std::string> payloads;
  std::vector<iggy::MessageId> ids;
  std::vector<std::uint64_t> times;
  std::vector<std::string> headers;
};

MessageIds ids_of(std::string pipeline, std::uint64_t seed = 1) {
  CountingRandom random(seed);
  return {std::move(pipeline), random};
}

std::vector<Request> requests_of(const IggySinkOptions& options, const SealedBatch& batch, std::uint32_t partitions = 4,
                                 std::vector<bool> done = {}, MessageIds ids = ids_of("line")) {
  done.resize(batch.chunk.records);
  Outgoing outgoing(options, std::move(ids));
  const auto taken = outgoing.take(batch.chunk, batch.chunk.bytes.view(), partitions, done);
  EXPECT_TRUE(taken) << taken.error().message();
  std::vector<Request> all;
  while (const auto part = outgoing.next()) {
    Request& one = all.emplace_back();
    one.to = part->to;
    for (const iggy::OutgoingMessage& message : part->messages) {
      one.payloads.emplace_back(message.payload);
      one.ids.push_back(message.id);
      one.times.push_back(message.origin_timestamp);
      one.headers.emplace_back(message.user_headers);
    }
  }
  return all;
}

IggySinkOptions partitioned(IggyPartitioning::Kind kind, std::uint32_t partition = 0) {
  IggySinkOptions options;
  options.partitioning = {kind, partition};
  return options;
}

const IggySinkOptions kBalanced = partitioned(IggyPartitioning::Kind::balanced);
const IggySinkOptions kByKey = partitioned(IggyPartitioning::Kind::key);

TEST(IggyOutgoing, AKeyGoesWhereIggysClientsSendIt) {
  // XXH32 with seed 0: of nothing 0x02cc5d05, of "a" 0x550d7456, of "abc" 0x32d153ff (the algorithm's test vectors).
  EXPECT_EQ(partition_of_key("", 1000), 0x02cc5d05U % 1000);
  EXPECT_EQ(partition_of_key("a", 7), 0x550d7456U % 7);
  EXPECT_EQ(partition_of_key("abc", 1000), 0x32d153ffU % 1000);
}

TEST(IggyOutgoing, RecordsOfAKeyKeepTheirOrderAndThoseWithoutOneGoAnywhere) {
  std::vector<TestRecord> records;
  for (int i = 0; i < 40; ++i) {
    records.push_back({std::to_string(i), i % 10 == 9 ? std::nullopt : std::optional("k" + std::to_string(i % 7))});
  }
  std::map<std::string, std::vector<int>> by_key;
  std::set<std::uint32_t> partitions;
  for (const Request& request : requests_of(kByKey, batch_of(records))) {
    int last = -1;
    for (const std::string& payload : request.payloads) {
      const int number = std::stoi(payload);
      EXPECT_GT(number, last);
      last = number;
      const auto& key = records[static_cast<std::size_t>(number)].key;
      by_key[key.value_or("")].push_back(number);
      EXPECT_EQ(request.to.kind, key ? iggy::Partitioning::Kind::partition : iggy::Partitioning::Kind::balanced);
      if (key) {
        EXPECT_EQ(request.to.partition, partition_of_key(*key, 4));
      }
    }
    if (request.to.kind == iggy::Partitioning::Kind::partition) {
      EXPECT_TRUE(partitions.insert(request.to.partition).second) << "one request for each partition";
    }
  }
  std::size_t all = 0;
  for (const auto& [key, numbers] : by_key) {
    EXPECT_TRUE(std::ranges::is_sorted(numbers));
    all += numbers.size();
  }
  EXPECT_EQ(all, records.size());
}

TEST(IggyOutgoing, RequestsAreCutByCountBytesAndTime) {
  IggySinkOptions options = partitioned(IggyPartitioning::Kind::partition, 2);
  options.batch_records = 2;
  auto all = requests_of(options, batch_of({{"1"}, {"2"}, {"3"}}));
  ASSERT_EQ(all.size(), 2U);
  EXPECT_THAT(all[0].payloads, ElementsAre("1", "2"));
  EXPECT_EQ(all[1].to.kind, iggy::Partitioning::Kind::partition);
  EXPECT_EQ(all[1].to.partition, 2U);
  options.batch_records = 100;
  // Three messages of 420 and 80 around each are 1500; the fourth goes alone, as does one that is larger than a
  // request.
  options.batch_bytes.bytes = 1500;
  const std::string some(420, 'x');
  all = requests_of(options, batch_of({{some}, {some}, {some}, {some}, {std::string(5000, 'y')}, {some}}));
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0].payloads.size(), 3U);
  EXPECT_EQ(all[2].payloads.front().size(), 5000U);
  // The newer framing has 32 bits for microseconds, 71.6 minutes.
  options.batch_bytes.bytes = 1 << 20U;
  all = requests_of(
      options, batch_of({{"1", {}, {}, -1, 0}, {"2", {}, {}, -1, 4'294'967'295}, {"3", {}, {}, -1, 4'294'967'296}}));
  ASSERT_EQ(all.size(), 2U);
  EXPECT_THAT(all[0].payloads, ElementsAre("1", "2"));
}

TEST(IggyOutgoing, WhatIsDoneIsNotSentAgainAndKeepsItsPlaceInTheCount) {
  const SealedBatch batch = batch_of({{"1"}, {"2"}, {"3"}});
  const auto whole = requests_of(kBalanced, batch);
  const auto rest = requests_of(kBalanced, batch, 0, {true, false, true});
  ASSERT_EQ(rest.size(), 1U);
  EXPECT_THAT(rest[0].payloads, ElementsAre("2"));
  EXPECT_EQ(rest[0].ids.front(), whole[0].ids[1]);
  EXPECT_THAT(requests_of(kBalanced, batch, 0, {true, true, true}), IsEmpty());
}

TEST(IggyOutgoing, HeadersAreWrittenAsTheSourceReadsThem) {
  IggySinkOptions options = kBalanced;
  options.key_header = "key";
  const auto all = requests_of(options, batch_of({{"v", "the key", {{"trace", "é"}, {"raw", "\xff\xfe"}}}, {"w"}}));
  std::vector<iggy::UserHeader> headers;
  ASSERT_TRUE(iggy::decode_user_headers(all[0].headers[0], headers));
  using iggy::HeaderKind;
  EXPECT_THAT(headers, ElementsAre(iggy::UserHeader{HeaderKind::string, "trace", HeaderKind::string, "é"},
                                   iggy::UserHeader{HeaderKind::string, "raw", HeaderKind::raw, "\xff\xfe"},
                                   iggy::UserHeader{HeaderKind::string, "key", HeaderKind::string, "the key"}));
  EXPECT_THAT(all[0].headers[1], IsEmpty());
}

// A name and a value have 1 to 255 bytes, all of a record 100,000: 192 headers of 520 bytes as they are sent are
// 99,840.
TEST(IggyOutgoing, AHeaderWithoutAPlaceIsToldOrLeftOutOnRequest) {
  const std::string longest(255, 'x');
  const std::string longer(256, 'x');
  IggySinkOptions options = kBalanced;
  options.key_header = "key";
  const auto left_out = [&](const TestRecord& record) {
    const SealedBatch batch = batch_of({{"first"}, record});
    Outgoing outgoing(options, ids_of("line"));
    const auto taken = outgoing.take(batch.chunk, batch.chunk.bytes.view(), 0, std::vector<bool>(2));
    if (taken) return std::to_string(outgoing.left_out());
    EXPECT_EQ(taken.error().error_class(), ErrorClass::fatal);
    EXPECT_FALSE(outgoing.next()) << "nothing of it is sent";
    return taken.error().message();
  };
  using Headers = std::vector<std::pair<std::string, std::string>>;
  const std::vector<TestRecord> without_a_place{{"v", {}, {{longer, "v"}}},
                                                {"v", {}, {{"n", longer}}},
                                                {"v", {}, {{"n", ""}}},
                                                {"v", longer},
                                                {"v", "", {}},
                                                {"v", {}, Headers(193, {longest, longest})}};
  EXPECT_EQ(left_out({"v", longest, {{longest, longest}}}), "0");
  EXPECT_EQ(left_out({"v", {}, Headers(192, {longest, longest})}), "0");
  for (const TestRecord& record : without_a_place) {
    EXPECT_THAT(left_out(record),
                ::testing::AllOf(::testing::HasSubstr("offset 1"), ::testing::HasSubstr("on_unfit_header: leave_out")));
  }
  options.on_unfit_header = IggyUnfitHeader::leave_out;
  for (const TestRecord& record : without_a_place) EXPECT_EQ(left_out(record), "1");
}

TEST(IggyOutgoing, ARecordWithoutATimeHasTheOneAtWhichItCame) {
  const auto all = requests_of(
      kBalanced, batch_of({{"1", {}, {}, -1, 5'000'000}, {"2", {}, {}, -1, kNoTimestamp}, {"3", {}, {}, -1, -7}}));
  EXPECT_THAT(all[0].times, ElementsAre(5'000'000U, 77'000'000U, 0U));
}

TEST(IggyOutgoing, ARecordKeepsItsIdAndNoTwoShareOne) {
  const std::vector<TestRecord> records{{"a"}, {"b"}, {"b", {}, {}, 1}, {"a", {}, {}, 2}};
  const auto first = requests_of(kBalanced, batch_of(records))[0].ids;
  EXPECT_EQ(std::set<std::string>({to_string(first[0]), to_string(first[1]), to_string(first[2]), to_string(first[3])})
                .size(),
            4U)
      << "also of two records that one became, which say the same";
  // Another process, which cuts its chunks elsewhere.
  const auto again =
      requests_of(kBalanced, batch_of({{"b", {}, {}, 1}, {"b", {}, {}, 1}}), 0, {}, ids_of("line", 2))[0].ids;
  EXPECT_THAT(again, ElementsAre(first[1], first[2]));
  const auto differs = [&](const SealedBatch& batch, MessageIds ids) {
    return requests_of(kBalanced, batch, 0, {}, std::move(ids))[0].ids.front() != first[0];
  };
  EXPECT_FALSE(differs(batch_of({{"a"}}), ids_of("line", 3)));
  EXPECT_TRUE(differs(batch_of({{"a"}}), ids_of("other")));
  EXPECT_TRUE(differs(batch_of({{"A"}}), ids_of("line"))) << "something else is said";
  EXPECT_TRUE(differs(batch_of({{"a"}}, 0, origin_of("m")), ids_of("line"))) << "offset 0 of something else";
  EXPECT_TRUE(differs(batch_of({{"a", {}, {}, 9}}), ids_of("line")));
}

TEST(IggyOutgoing, WithoutALineageIdsHoldForOneRun) {
  const SealedBatch batch = batch_of({{"a"}}, 0, nullptr);
  const auto id = [&](std::uint64_t seed) {
    return requests_of(kBalanced, batch, 0, {}, ids_of("line", seed))[0].ids.front();
  };
  EXPECT_EQ(id(1), id(1));
  EXPECT_NE(id(1), id(2));
}

}  // namespace
}  // namespace millrace::iggy_sink
