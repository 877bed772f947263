// SPDX-License-Identifier: Apache-2.0
#include "millrace/record/record_place.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(RecordPlace, NamesTheObjectAndCountsItsRecordsFromOne) {
  Origin origin;
  origin.bucket = "logs";
  origin.object = "in/a.ndjson";
  origin.first_offset = Offset(std::int64_t{1} << 40U);
  RecordMeta meta;
  meta.partition = PartitionId(3);
  meta.offset = Offset((std::int64_t{1} << 40U) + 2);
  meta.origin = &origin;
  EXPECT_EQ(record_place(meta), "record 3 of logs/in/a.ndjson (partition 3, offset 1099511627778)");
}

TEST(RecordPlace, A08_ShowsATabInAKey) {
  Origin origin;
  origin.object = "in/a\tb";
  RecordMeta meta;
  meta.origin = &origin;
  EXPECT_EQ(record_place(meta), "record 1 of in/a\\tb (partition 0, offset 0)");
}

TEST(RecordPlace, NamesStreamAndTopicWhereThereIsNoObject) {
  Origin origin;
  origin.stream = "orders";
  origin.topic = "eu";
  RecordMeta meta;
  meta.partition = PartitionId(2);
  meta.offset = Offset(7);
  EXPECT_EQ(record_place(meta), "offset 7 of partition 2");
  meta.origin = &origin;
  EXPECT_EQ(record_place(meta), "offset 7 of partition 2 (orders/eu)");
  // Of several topics: the source counts on, the topic does not.
  origin.partition = PartitionId(0);
  EXPECT_EQ(record_place(meta), "offset 7 of partition 0 (orders/eu)");
  EXPECT_EQ(partition_place(PartitionId(2), &origin), "partition 0 (orders/eu)");
  EXPECT_EQ(partition_place(PartitionId(2), nullptr), "partition 2");
}

}  // namespace
}  // namespace millrace
