// SPDX-License-Identifier: Apache-2.0
// What a receipt must not get away with: each gap alone, told by name.
#include "connectors/s3/verification.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "connectors/s3/rolling_hash.h"

namespace millrace::s3_source {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct VerificationTest : ::testing::Test {
  std::map<std::string, ObjectReceipt> lines;
  std::map<std::string, std::uint64_t> listed;  // key to size; the ETag is the key in quotes

  VerificationTest() {
    for (const std::string name : {"a", "b", "c"}) {
      ObjectReceipt line;
      line.key = name;
      line.etag = "\"" + name + "\"";
      line.size = line.stored = 10;
      line.decoded = 20;
      line.records = 4;
      line.fates = {.out = 2, .filtered = 1, .skipped = {{"malformed", 1}}, .written = 2};
      lines[name] = line;
      listed[name] = 10;
    }
  }
  Listing listing() const {
    ListingBuilder builder;
    for (const auto& [key, size] : listed) {
      EXPECT_TRUE(builder.add({.key = key, .size = size, .etag = {"\"" + key + "\""}}));
    }
    return *std::move(builder).finish();
  }
  ReceiptTotal total_of(const std::string& text) const {
    ReceiptTotal total;
    total.listed = lines.size();
    for (const auto& [key, line] : lines) total.add(line);
    total.xxh3 = hash_bytes(text);
    return total;
  }
  std::string objects() const {
    std::string text;
    for (const auto& [key, line] : lines) text += to_line(line);
    return text;
  }
  std::string receipt() const { return objects() + to_line(total_of(objects())); }
  Verification verify() const { return verify_receipt(receipt(), listing()); }
};

TEST_F(VerificationTest, AWholeReceiptHasNoGap) {
  const Verification result = verify();
  EXPECT_TRUE(result.ok());
  EXPECT_THAT(result.told, IsEmpty());
  EXPECT_EQ(result.total.records, 12U);
}

TEST_F(VerificationTest, AnObjectThatWasNotRead) {
  listed["bb"] = 3;
  EXPECT_THAT(verify().told, ElementsAre("'bb' is listed, and was not read"));
  listed.erase("bb");
  lines["b"].kind = ObjectReceipt::Kind::left_out;
  lines["b"].left_out = "archived";
  EXPECT_THAT(verify_receipt(objects(), listing()).told,
              ElementsAre("'b' was left out (archived); nothing of it was read",
                          "there is no total, the line that ends a receipt"));
  lines["b"].kind = ObjectReceipt::Kind::read;
  lines["b"].stored = 9;
  EXPECT_THAT(verify().told, ElementsAre("'b': 9 of its 10 bytes were read"));
}

// Named, whatever stands in its place now, or if nothing does.
TEST_F(VerificationTest, AnObjectThatIsSetAside) {
  lines["b"].kind = ObjectReceipt::Kind::quarantined;
  lines["b"].quarantined = "truncated";
  lines["b"].decoded = lines["b"].xxh3 = 0;
  const auto named = ElementsAre(HasSubstr("'b' was set aside (truncated): 4 of its records were delivered"));
  EXPECT_THAT(verify().told, named);
  listed["b"] = 99;
  EXPECT_THAT(verify().told, named);
  listed.erase("b");
  EXPECT_THAT(verify().told, named);
}

TEST_F(VerificationTest, ARecordThatIsMissingFromTheSums) {
  lines["b"].fates.out = 1;
  EXPECT_THAT(verify().told, ElementsAre(HasSubstr("'b': 4 records were framed, and 1 out + 1 filtered"),
                                         HasSubstr("12 records were framed, and 5 out + 3 filtered")));
}

// They were handed to the sink, so they count as out, and were given up there: the sums balance all the same.
TEST_F(VerificationTest, ABatchThatWasGivenUp) {
  lines["b"].places = {{.sink = "sink", .dropped = 7}, {.sink = "sink", .to = "s3://b/out/1"}};
  lines["c"].places = {{.sink = "sink", .to = "s3://b/out/1"}};
  const Verification result = verify();
  EXPECT_FALSE(result.ok());
  EXPECT_THAT(result.told, ElementsAre("'b': a batch of 7 records, some of them of this object, was given up by sink "
                                       "(on_upload_failure: drop); what is counted as out may not be there"));
  // With dead letters they are not gone, and their place is told.
  lines["b"].places.insert(lines["b"].places.begin(), {.sink = "dead_letter", .to = "s3://b/bad/1"});
  EXPECT_THAT(verify().told, ElementsAre(HasSubstr("may not be there; its bytes are in a dead letter: s3://b/bad/1")));
}

TEST_F(VerificationTest, AnObjectThatHasChangedOrIsGone) {
  listed["b"] = 11;
  EXPECT_THAT(verify().told, ElementsAre("'b' has changed since it was read: it was 10 bytes with ETag \"b\", and is "
                                         "11 with \"b\""));
  listed.erase("b");
  EXPECT_THAT(verify().told, ElementsAre("'b' was read, and is gone"));
}

TEST_F(VerificationTest, AReceiptThatWasEditedByHand) {
  std::string edited = receipt();
  // Balanced, and yet not what was counted: a record moved from filtered to out.
  const std::size_t at = edited.find("\"out\":2,\"filtered\":1");
  edited.replace(at, 20, "\"out\":3,\"filtered\":0");
  EXPECT_THAT(verify_receipt(edited, listing()).told,
              ElementsAre(HasSubstr("the lines are not those that the total was made of"),
                          HasSubstr("the total is not the sum of the lines")));
  // A line taken out, one doubled, one cut, one behind the end.
  const std::string line = to_line(lines["b"]);
  std::string without = receipt();
  without.erase(without.find(line), line.size());
  EXPECT_EQ(verify_receipt(without, listing()).told.back(), "'b' is listed, and was not read");
  std::string doubled = receipt();
  doubled.insert(doubled.find(line), line);
  EXPECT_EQ(verify_receipt(doubled, listing()).told.front(), "'b' has two lines");
  std::string cut = receipt();
  cut.resize(cut.size() - 1);
  EXPECT_EQ(verify_receipt(cut, listing()).told.front(), "the last line is cut off");
  EXPECT_EQ(verify_receipt("junk\n" + receipt(), listing()).told.front().substr(0, 8), "line 1: ");
  EXPECT_FALSE(verify_receipt(receipt() + line, listing()).ok());
  EXPECT_FALSE(verify_receipt("", listing()).ok());
}

TEST_F(VerificationTest, GapsAreCountedAndTheFirstTold) {
  for (int i = 0; i < 100; ++i) listed[fmt::format("new-{:03}", i)] = 1;
  const Verification result = verify();
  EXPECT_EQ(result.gaps, 100U);
  EXPECT_EQ(result.told.size(), Verification::kTold);
}

}  // namespace
}  // namespace millrace::s3_source
