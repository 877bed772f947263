// SPDX-License-Identifier: Apache-2.0
// The receipt's lines against lines written by hand after docs/formats/receipt.md, and its sums.
#include "connectors/s3/receipt.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace millrace::s3_source {
namespace {

ObjectReceipt orders() {
  ObjectReceipt object;
  object.key = "in/orders-1.ndjson.gz";
  object.etag = "\"9b2c\"";
  object.size = 120;
  object.stored = 120;
  object.decoded = 900;
  object.xxh3 = 0xabcd;
  object.records = 10;
  object.fates = {.out = 6, .filtered = 1, .skipped = {{"malformed", 3}}, .written = 12};
  object.places = {{.sink = "sink", .to = "s3://b/out/a"}, {.sink = "sink b", .dropped = 4}};
  return object;
}
constexpr const char* kOrders =
    R"({"object":"in/orders-1.ndjson.gz","etag":"\"9b2c\"","size":120,"stored":120,"decoded":900,)"
    R"("xxh3":"000000000000abcd","records":10,"out":6,"filtered":1,"skipped":{"malformed":3},"written":12,)"
    R"("sinks":[{"sink":"sink","to":"s3://b/out/a"},{"sink":"sink b","dropped":4}]})";

TEST(Receipt, ALineOfEachKindIsAsThePageSays) {
  EXPECT_EQ(to_line(orders()), std::string(kOrders) + "\n");
  ObjectReceipt empty;
  empty.kind = ObjectReceipt::Kind::empty;
  empty.key = "in/\xff/";
  EXPECT_EQ(to_line(empty), "{\"object\":{\"base64\":\"aW4v/y8=\"},\"etag\":\"\",\"size\":0}\n");
  ObjectReceipt archived;
  archived.kind = ObjectReceipt::Kind::left_out;
  archived.key = "in/old";
  archived.size = 7;
  archived.left_out = "archived";
  EXPECT_EQ(to_line(archived), "{\"object\":\"in/old\",\"etag\":\"\",\"size\":7,\"left_out\":\"archived\"}\n");
  ObjectReceipt aside = orders();
  aside.kind = ObjectReceipt::Kind::quarantined;
  aside.quarantined = "truncated";
  aside.stored = 60;
  aside.decoded = aside.xxh3 = 0;
  EXPECT_EQ(to_line(aside),
            R"({"object":"in/orders-1.ndjson.gz","etag":"\"9b2c\"","size":120,"quarantined":"truncated","stored":60,)"
            R"("records":10,"out":6,"filtered":1,"skipped":{"malformed":3},"written":12,)"
            R"("sinks":[{"sink":"sink","to":"s3://b/out/a"},{"sink":"sink b","dropped":4}]})"
            "\n");
  EXPECT_EQ(aside.imbalance(), "") << "not all of its bytes are read";
  ObjectReceipt kept = orders();
  kept.fates.skipped.clear();
  kept.fates.dead_lettered = {{"malformed", 3}};
  kept.places = {{.sink = "dead_letter", .to = "s3://b/bad/a"}, {.sink = "sink", .to = "s3://b/out/a"}};
  EXPECT_EQ(
      to_line(kept),
      R"({"object":"in/orders-1.ndjson.gz","etag":"\"9b2c\"","size":120,"stored":120,"decoded":900,)"
      R"("xxh3":"000000000000abcd","records":10,"out":6,"filtered":1,"skipped":{},"dead_lettered":{"malformed":3},)"
      R"("written":12,"sinks":[{"sink":"dead_letter","to":"s3://b/bad/a"},{"sink":"sink","to":"s3://b/out/a"}]})"
      "\n");
  EXPECT_EQ(kept.imbalance(), "");
  for (const ObjectReceipt& object : {orders(), empty, archived, aside, kept}) {
    std::string line = to_line(object);
    line.pop_back();
    const auto parsed = parse_object(line);
    ASSERT_TRUE(parsed) << parsed.error().message();
    EXPECT_EQ(*parsed, object);
  }
}

TEST(Receipt, TheTotalIsTheSumOfTheLines) {
  ReceiptTotal total;
  total.pipeline = "daily";
  total.source = "s3://b/in/";
  total.listed = 2;
  total.listing_bytes = 120;
  total.listing_hash = 1;
  total.add(orders());
  ObjectReceipt marker;
  marker.kind = ObjectReceipt::Kind::empty;
  total.add(marker);
  total.xxh3 = 2;
  EXPECT_EQ(total.imbalance(), "");
  const std::string line =
      R"({"receipt":1,"pipeline":"daily","source":"s3://b/in/",)"
      R"("listing":{"objects":2,"bytes":120,"hash":"0000000000000001"},)"
      R"("objects":{"listed":2,"read":1,"empty":1,"left_out":0,"quarantined":0},"stored":120,"decoded":900,"records":10,)"
      R"("out":6,"filtered":1,"skipped":{"malformed":3},"written":12,"xxh3":"0000000000000002"})";
  EXPECT_EQ(to_line(total), line + "\n");
  const auto parsed = parse_total(line);
  ASSERT_TRUE(parsed) << parsed.error().message();
  EXPECT_EQ(*parsed, total);
}

TEST(Receipt, WhatDoesNotBalanceIsSaidWithTheFigures) {
  ObjectReceipt object = orders();
  EXPECT_EQ(object.imbalance(), "");
  object.records = 11;
  EXPECT_EQ(object.imbalance(),
            "'in/orders-1.ndjson.gz': 11 records were framed, and 6 out + 1 filtered + 3 skipped (malformed) are "
            "accounted for");
  object = orders();
  object.stored = 119;
  EXPECT_EQ(object.imbalance(), "'in/orders-1.ndjson.gz': 119 of its 120 bytes were read");
  ReceiptTotal total;
  total.listed = 3;
  total.read = 1;
  total.empty = 1;
  EXPECT_EQ(total.imbalance(), "3 objects are listed, and 1 read + 1 empty + 0 left out + 0 set aside");
}

TEST(Receipt, WhatTheGrammarDoesNotNameIsRefusedByField) {
  const auto refusal = [](std::string line) {
    const auto parsed = parse_object(line);
    return parsed ? std::string("taken") : parsed.error().message();
  };
  const auto with = [](std::string_view from, std::string_view to) {
    std::string line = kOrders;
    return line.replace(line.find(from), from.size(), to);
  };
  EXPECT_EQ(refusal("{}"), "field 'object' is missing");
  EXPECT_EQ(refusal("[]"), "field 'line' is an array, not an object");
  EXPECT_EQ(refusal(with("\"size\":120", "\"size\":-1")), "field 'size' is a number (-1), not an integer from 0");
  EXPECT_EQ(refusal(with("\"records\"", "\"rows\"")), "field 'records' is missing");
  EXPECT_EQ(refusal(with("\"written\":12", "\"written\":12,\"extra\":1")), "field 'extra' is unknown to schema 1");
  EXPECT_EQ(refusal(with("{\"malformed\":3}", "{\"malformed\":\"3\"}")),
            "field 'skipped' has a string (\"3\") under 'malformed', not an integer from 0");
  EXPECT_EQ(refusal(with("\"sink b\"", "\"a\"")), "field 'sinks[1]' is out of order, or stands there twice");
  EXPECT_EQ(refusal(R"({"object":"a","etag":"","size":3})"),
            "field 'size' is not 0, but nothing says what was read of it");
}

RC_GTEST_PROP(Receipt, ALineCutOrDamagedIsNeverTakenForAnother, ()) {
  std::string line = kOrders;
  const auto at = *rc::gen::inRange<std::size_t>(0, line.size());
  if (*rc::gen::arbitrary<bool>()) {
    line.resize(at);
    RC_ASSERT(!parse_object(line));
  } else {
    line[at] = *rc::gen::arbitrary<char>();
    std::ignore = parse_object(line);  // whatever it says, it must not crash
  }
}

}  // namespace
}  // namespace millrace::s3_source
