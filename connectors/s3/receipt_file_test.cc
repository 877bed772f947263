// SPDX-License-Identifier: Apache-2.0
// Parts of a receipt over a store that keeps what it is given: put together they are the lines in their order, whatever
// dies in between; damage is refused.
#include "connectors/s3/receipt_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "connectors/s3/rolling_hash.h"
#include "millrace/testing/memory_store.h"

namespace millrace::s3_source {
namespace {

using millrace::testing::MemoryStore;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

ObjectReceipt object(int number, std::size_t name_bytes = 1) {
  ObjectReceipt one;
  one.key = "in/" + std::string(name_bytes, 'k') + std::to_string(number);
  one.size = one.stored = one.decoded = 5;
  one.records = 1;
  one.fates.out = one.fates.written = 1;
  return one;
}

struct ReceiptFileTest : ::testing::Test {
  std::shared_ptr<MemoryStore> store = std::make_shared<MemoryStore>();
  Manifest manifest;
  ReceiptFileTest() { manifest.identity.url = "s3://b/in/"; }

  ReceiptFile file(const std::string& key = "receipts/r.ndjson", const std::string& owner = "0123456789") const {
    return ReceiptFile(store, store,
                       {.manifest_key = "ck/backfill.json",
                        .manifest_url = "s3://b/ck/backfill.json",
                        .key = key,
                        .url = "s3://b/" + key,
                        .pipeline = "daily",
                        .owner = owner});
  }
  std::vector<std::string> keys() const {
    std::vector<std::string> all;
    for (const auto& [key, body] : store->contents()) all.push_back(key);
    return all;
  }
  std::string body(const std::string& key) const { return store->contents().at(key); }
};

TEST_F(ReceiptFileTest, SmallPartsAreReplacedAndTheReceiptHoldsEveryLineInOrder) {
  std::string lines;
  StoredRecord last;
  for (int i = 0; i < 5; ++i) {
    // Each time from what the manifest names, as after a kill.
    ReceiptFile one = file();
    ASSERT_TRUE(one.resume({.at = last}));
    const auto record = one.write(to_line(object(i)), {});
    ASSERT_TRUE(record) << record.error().message();
    last = *record;
    one.saved();
    lines += to_line(object(i));
    EXPECT_THAT(keys(), ElementsAre("ck/" + last.name));
  }
  manifest.listing.objects = 5;
  ReceiptFile end = file();
  ASSERT_TRUE(end.resume({.at = last}));
  const auto done = end.finish(manifest);
  ASSERT_TRUE(done) << done.error().message();
  end.remove_parts();
  EXPECT_THAT(keys(), ElementsAre("receipts/r.ndjson"));
  const std::string receipt = body("receipts/r.ndjson");
  ASSERT_TRUE(receipt.starts_with(lines));
  EXPECT_EQ(done->bytes, receipt.size());
  EXPECT_EQ(done->hash, hash_bytes(receipt));
  EXPECT_EQ(done->name, "r.ndjson");
  const auto total = parse_total(std::string_view(receipt).substr(lines.size(), receipt.size() - lines.size() - 1));
  ASSERT_TRUE(total) << total.error().message();
  EXPECT_EQ(total->records, 5U);
  EXPECT_EQ(total->xxh3, hash_bytes(lines));
}

TEST_F(ReceiptFileTest, LargePartsAreFollowed) {
  std::string lines;
  ReceiptFile one = file("r.ndjson.zst");
  ASSERT_TRUE(one.resume({}));
  StoredRecord last;
  for (int i = 0; i < 4; ++i) {
    const std::string line = to_line(object(i, std::size_t{700} << 10U));
    last = *one.write(line, {});
    one.saved();
    lines += line;
  }
  EXPECT_THAT(keys(), ElementsAre("ck/backfill.receipt-000002-01234567.ndjson.zst",
                                  "ck/backfill.receipt-000004-01234567.ndjson.zst"));
  manifest.listing.objects = 4;
  ReceiptFile end = file();
  ASSERT_TRUE(end.resume({.at = last}));
  ASSERT_TRUE(end.finish(manifest));
  EXPECT_TRUE(body("receipts/r.ndjson").starts_with(lines));
}

TEST_F(ReceiptFileTest, WhatIsCountedInPartComesBack) {
  ReceiptFile one = file();
  ASSERT_TRUE(one.resume({}));
  const std::vector<PartialReceipt> partial{{.lane = 3,
                                             .watermark = 17,
                                             .fates = {.out = 2, .skipped = {{"malformed", 1}}},
                                             .places = {{.sink = "s", .to = "t"}}}};
  const auto record = one.write("", partial);
  ASSERT_TRUE(record);
  ReceiptFile two = file();
  const auto back = two.resume({.at = *record});
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(*back, partial);
  // A later one without takes their place.
  const auto next = two.write(to_line(object(1)), {});
  ReceiptFile three = file();
  EXPECT_TRUE(three.resume({.at = *next})->empty());
}

TEST_F(ReceiptFileTest, AFinishedOneIsGoneOnWithWhenObjectsHaveCome) {
  for (const std::string key : {"r.ndjson", "r.ndjson.zst"}) {
    ReceiptFile one = file(key);
    ASSERT_TRUE(one.resume({}));
    std::ignore = one.write(to_line(object(1)), {});
    manifest.listing.objects = 1;
    const auto done = one.finish(manifest);
    one.remove_parts();
    ReceiptFile two = file(key);
    ASSERT_TRUE(two.resume({.at = *done, .finished = true}));
    std::ignore = two.write(to_line(object(2)), {});
    manifest.listing.objects = 2;
    const auto longer = two.finish(manifest);
    ASSERT_TRUE(longer) << longer.error().message();
    two.remove_parts();
    ReceiptFile three = file(key);
    ASSERT_TRUE(three.resume({.at = *longer, .finished = true}));
  }
  EXPECT_TRUE(body("r.ndjson").starts_with(to_line(object(1)) + to_line(object(2))));
  EXPECT_THAT(keys(), ElementsAre("r.ndjson", "r.ndjson.zst"));
}

// F12: one that was taken over and does not know it yet goes on writing parts.
TEST_F(ReceiptFileTest, F12_TwoOwnersWriteOverNoPartOfEachOther) {
  ReceiptFile old = file();
  ASSERT_TRUE(old.resume({}));
  const auto both = old.write(to_line(object(1)), {});
  ReceiptFile newer = file("receipts/r.ndjson", "abcdefgh99");
  ASSERT_TRUE(newer.resume({.at = *both}));
  const auto theirs = newer.write(to_line(object(2)), {});
  std::ignore = old.write(to_line(object(3)), {});
  ReceiptFile after = file();
  ASSERT_TRUE(after.resume({.at = *theirs}));
  manifest.listing.objects = 2;
  ASSERT_TRUE(after.finish(manifest));
  EXPECT_TRUE(body("receipts/r.ndjson").starts_with(to_line(object(1)) + to_line(object(2)) + "{\"receipt\":1,"))
      << body("receipts/r.ndjson");
}

TEST_F(ReceiptFileTest, UntilTheManifestIsSavedThePartThatItNamesStays) {
  ReceiptFile one = file();
  ASSERT_TRUE(one.resume({}));
  const auto first = one.write(to_line(object(1)), {});
  one.saved();
  std::ignore = one.write(to_line(object(2)), {});
  ReceiptFile after_a_kill = file();
  ASSERT_TRUE(after_a_kill.resume({.at = *first}));
  const auto second = after_a_kill.write(to_line(object(2)), {});
  manifest.listing.objects = 2;
  after_a_kill.saved();
  EXPECT_THAT(keys(), ElementsAre("ck/" + second->name));
  ASSERT_TRUE(after_a_kill.finish(manifest));
  EXPECT_TRUE(body("receipts/r.ndjson").starts_with(to_line(object(1)) + to_line(object(2))));
}

TEST_F(ReceiptFileTest, WhatAKilledRunHadNotRemovedIsRemovedByTheNext) {
  ReceiptFile one = file();
  ASSERT_TRUE(one.resume({}));
  std::ignore = one.write(to_line(object(1)), {});
  std::ignore = one.write(to_line(object(2)), {});
  const auto third = one.write(to_line(object(3)), {});  // and the manifest names it, but then the run is killed
  EXPECT_EQ(keys().size(), 3U);
  ReceiptFile two = file();
  ASSERT_TRUE(two.resume({.at = *third}));
  two.saved();
  EXPECT_THAT(keys(), ElementsAre("ck/" + third->name));
}

TEST_F(ReceiptFileTest, WhatIsNotWhatWasWrittenIsRefused) {
  ReceiptFile one = file();
  ASSERT_TRUE(one.resume({}));
  const StoredRecord record = *one.write(to_line(object(1)), {});
  const std::string key = "ck/" + record.name;
  const auto refusal = [&] {
    const auto resumed = file().resume({.at = record});
    return resumed ? std::string("taken") : resumed.error().message();
  };
  store->set(key, "x");
  EXPECT_THAT(refusal(),
              HasSubstr("s3://b/ck/backfill.receipt-000001-01234567.ndjson.zst, is damaged or not this backfill's"));
  store->set(key, std::string(record.bytes + 1, 'x'));
  EXPECT_THAT(refusal(), HasSubstr("has more than the"));
  ASSERT_TRUE(store->remove(key));
  EXPECT_THAT(refusal(), HasSubstr("is gone"));
  EXPECT_THAT(refusal(), HasSubstr("--reset"));
}

TEST_F(ReceiptFileTest, AReceiptThatDoesNotBalanceIsNotWritten) {
  ReceiptFile one = file();
  ASSERT_TRUE(one.resume({}));
  std::ignore = one.write(to_line(object(1)), {});
  manifest.listing.objects = 2;
  const auto done = one.finish(manifest);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message(), HasSubstr("2 objects are listed, and 1 read + 0 empty + 0 left out"));
  EXPECT_EQ(done.error().code(), ErrorCode::internal);
  EXPECT_FALSE(store->contents().contains("receipts/r.ndjson"));
}

TEST_F(ReceiptFileTest, LinesOfRetriedObjectsAreTakenOutWhereverTheyAre) {
  const auto even = [](std::string_view key) { return (key.back() - '0') % 2 == 0; };
  StoredRecord last;
  const auto write_on = [&](ReceiptFile& one, const std::string& lines) {
    const auto record = one.write(lines, {});
    ASSERT_TRUE(record) << record.error().message();
    last = *record;
    one.saved();
  };
  {
    ReceiptFile first = file();
    ASSERT_TRUE(first.resume({}));
    // Two parts: the first is too large to be replaced.
    std::string lines;
    for (int i = 0; i < 4; ++i) lines += to_line(object(i, 300'000));
    write_on(first, lines);
    write_on(first, to_line(object(4)) + to_line(object(5)));
  }
  const auto expect_taken = [&](ReceiptFile& one, std::size_t taken) {
    const auto out = one.take_out(even);
    ASSERT_TRUE(out) << out.error().message();
    EXPECT_EQ(out->size(), taken);
    for (const ObjectReceipt& line : *out) EXPECT_TRUE(even(line.key));
  };
  ReceiptFile retry = file();
  ASSERT_TRUE(retry.resume({.at = last}));
  expect_taken(retry, 3);
  write_on(retry, to_line(object(6)));
  EXPECT_THAT(keys(), ElementsAre("ck/" + last.name)) << "the old parts are gone";
  manifest.listing.objects = 4;
  const auto done = retry.finish(manifest);
  ASSERT_TRUE(done) << done.error().message();
  retry.remove_parts();
  // And out of the finished one.
  ReceiptFile again = file();
  ASSERT_TRUE(again.resume({.at = *done, .finished = true}));
  expect_taken(again, 1);
  write_on(again, "");
  manifest.listing.objects = 3;
  const auto end = again.finish(manifest);
  ASSERT_TRUE(end) << end.error().message();
  const std::string receipt = body("receipts/r.ndjson");
  EXPECT_TRUE(receipt.starts_with(to_line(object(1, 300'000)) + to_line(object(3, 300'000)) + to_line(object(5))));
}

}  // namespace
}  // namespace millrace::s3_source
