// SPDX-License-Identifier: Apache-2.0
// Random batches, chunks, commits and crashes over a small listing, against what each object holds: however often a
// backfill is killed, every object gets one line, with each of its records counted once.
#include "connectors/s3/receipt_book.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace millrace::s3_source {
namespace {

constexpr std::uint64_t kLanes = 2;

// Object i has `records` records: those whose number is 1 mod 3 are filtered, 2 mod 3 skipped.
ReceiptFates fates_of(std::uint64_t from, std::uint64_t to) {
  ReceiptFates fates;
  for (std::uint64_t i = from; i < to; ++i) {
    if (i % 3 == 1) {
      ++fates.filtered;
    } else if (i % 3 == 2) {
      ++fates.skipped["malformed"];
    } else {
      ++fates.out;
      ++fates.written;
    }
  }
  return fates;
}
RecordFates said(std::uint64_t from, std::uint64_t to) {
  const ReceiptFates fates = fates_of(from, to);
  RecordFates record{.in = to - from, .out = fates.out, .filtered = fates.filtered, .encoded = fates.written};
  for (const auto& [reason, count] : fates.skipped) record.skip(ErrorCode::malformed, count);
  return record;
}

RC_GTEST_PROP(ReceiptBook, INV6_EachObjectHasOneLineThatBalancesHoweverOftenTheRunIsKilled, ()) {
  const auto sizes = *rc::gen::container<std::vector<std::uint64_t>>(rc::gen::inRange<std::uint64_t>(0, 9));
  ListingBuilder builder;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    std::ignore = builder.add({.key = fmt::format("in/{:03}", i), .size = sizes[i] * 10, .etag = {"\"e\""}});
  }
  const auto listing = std::make_shared<const Listing>(*std::move(builder).finish());
  std::vector<Position> committed(kLanes);
  std::vector<PartialReceipt> partial;
  std::string lines;
  // False: killed with a batch that was not settled.
  const auto live = [&](int life) {
    ReceiptBook book(routes_from(listing, committed), partial);
    for (std::uint64_t lane = 0; lane < kLanes; ++lane) {
      Position at = committed[lane];
      std::uint64_t ordinal = at.ordinal + (at.object_complete() ? 1 : 0);
      std::uint64_t index = at.object_complete() ? 0 : at.index;
      for (; ordinal < listing->objects_of_lane(lane, kLanes); ++ordinal, index = 0) {
        const std::uint64_t records = listing->object_of_lane(lane, kLanes, ordinal).size / 10;
        while (index < records) {
          const std::uint64_t end = *rc::gen::inRange<std::uint64_t>(index, records) + 1;
          const Offset first = *record_offset(ordinal, index);
          const Offset last = *record_offset(ordinal, end - 1);
          Ledger::Settled settled;
          settled.accounts.push_back({first, last, said(index, end)});
          settled.landings.push_back({first, last, 1, "sink", fmt::format("o/{}", ordinal), false});
          index = end;
          if (*rc::gen::weightedElement<bool>({{4, true}, {1, false}})) {
            book.settle(lane, settled);
            if (index < records) {
              at = {ordinal, index};
              RC_ASSERT(book.advance(lane, at, lines));
              committed[lane] = at;
              partial = book.partial();
            }
          } else if (life < 20) {
            return false;
          } else {
            book.settle(lane, settled);
          }
        }
        if (records != 0) book.note(lane, {ordinal, records * 10, records * 20, ordinal, records});
        at = {ordinal, kObjectComplete};
        RC_ASSERT(book.advance(lane, at, lines));
        committed[lane] = at;
        partial = book.partial();
      }
    }
    return true;
  };
  for (int life = 0; !live(life);) ++life;
  std::vector<std::string> keys;
  for (std::size_t begin = 0; begin < lines.size();) {
    const std::size_t end = lines.find('\n', begin);
    const auto line = parse_object(std::string_view(lines).substr(begin, end - begin));
    begin = end + 1;
    RC_ASSERT(line);
    RC_ASSERT(line->imbalance() == "");
    const auto i = static_cast<std::size_t>(std::stoi(line->key.substr(3)));
    RC_ASSERT(line->size == sizes[i] * 10);
    RC_ASSERT((line->kind == ObjectReceipt::Kind::empty) == (sizes[i] == 0));
    if (sizes[i] != 0) {
      RC_ASSERT(line->fates == fates_of(0, sizes[i]));
      RC_ASSERT(line->places.size() == 1U);
    }
    keys.push_back(line->key);
  }
  RC_ASSERT(keys.size() == sizes.size());
  std::ranges::sort(keys);
  RC_ASSERT(std::ranges::adjacent_find(keys) == keys.end());
}

std::shared_ptr<const Listing> two_objects() {
  ListingBuilder builder;
  std::ignore = builder.add({.key = "in/a", .size = 10, .etag = {"\"a\""}});
  std::ignore = builder.add({.key = "in/b", .size = 10, .etag = {"\"b\""}});
  return std::make_shared<const Listing>(*std::move(builder).finish());
}

TEST(ReceiptBook, WhatNobodyGaveAccountOfIsAnError) {
  ReceiptBook book(routes_from(two_objects(), {Position{}}), {});
  std::string lines;
  const auto nothing = book.advance(0, {0, kObjectComplete}, lines);
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().message(), "the receipt knows nothing of 'in/a', which is committed");
  book.note(0, {0, 10, 10, 0, 3});
  const auto unaccounted = book.advance(0, {0, kObjectComplete}, lines);
  ASSERT_FALSE(unaccounted);
  EXPECT_NE(unaccounted.error().message().find("'in/a': 3 records were framed, and 0 out + 0 filtered"),
            std::string::npos)
      << unaccounted.error().message();
  EXPECT_EQ(lines, "");
}

TEST(ReceiptBook, AChunkOverTwoObjectsIsAPlaceOfBothAndADroppedOneIsNone) {
  ReceiptBook book(routes_from(two_objects(), {Position{}}), {});
  Ledger::Settled settled;
  settled.accounts.push_back({*record_offset(0, 0), *record_offset(0, 0), {.in = 1, .out = 1, .encoded = 1}});
  settled.accounts.push_back({*record_offset(1, 0), *record_offset(1, 0), {.in = 1, .out = 1, .encoded = 1}});
  settled.landings.push_back({*record_offset(0, 0), *record_offset(1, 0), 2, "sink", "s3://b/1", false});
  settled.landings.push_back({*record_offset(1, 0), *record_offset(1, 0), 1, "other", "", true});
  book.settle(0, settled);
  book.note(0, {0, 10, 10, 0, 1});
  book.note(0, {1, 10, 10, 0, 1});
  std::string lines;
  ASSERT_TRUE(book.advance(0, {1, kObjectComplete}, lines));
  const std::size_t cut = lines.find('\n');
  EXPECT_EQ(parse_object(std::string_view(lines).substr(0, cut))->places,
            (std::vector<ReceiptPlace>{{.sink = "sink", .to = "s3://b/1"}}));
  EXPECT_EQ(parse_object(std::string_view(lines).substr(cut + 1, lines.size() - cut - 2))->places,
            (std::vector<ReceiptPlace>{{.sink = "other", .dropped = 1}, {.sink = "sink", .to = "s3://b/1"}}));
}

// A file of letters that spans both objects holds something of the first alone; a file that was given up is in its
// letter.
TEST(ReceiptBook, INV6_LettersAreAPlaceOfTheObjectsThatHaveSome) {
  ReceiptBook book(routes_from(two_objects(), {Position{}}), {});
  RecordFates kept{.in = 1};
  kept.dead_letter(ErrorCode::malformed);
  Ledger::Settled settled;
  settled.accounts.push_back({*record_offset(0, 0), *record_offset(0, 0), kept});
  settled.accounts.push_back({*record_offset(1, 0), *record_offset(1, 0), {.in = 1, .out = 1, .encoded = 1}});
  settled.landings.push_back({*record_offset(0, 0), *record_offset(1, 0), 2, "dead_letter", "s3://b/bad/1", false});
  settled.landings.push_back({*record_offset(1, 0), *record_offset(1, 0), 1, "sink", "s3://b/1", false});
  const auto lines_of = [&settled](ReceiptBook& of) {
    of.settle(0, settled);
    of.note(0, {0, 10, 10, 0, 1});
    of.note(0, {1, 10, 10, 0, 1});
    std::string lines;
    EXPECT_TRUE(of.advance(0, {1, kObjectComplete}, lines));
    const std::size_t cut = lines.find('\n');
    return std::pair(*parse_object(std::string_view(lines).substr(0, cut)),
                     *parse_object(std::string_view(lines).substr(cut + 1, lines.size() - cut - 2)));
  };
  const auto [first, second] = lines_of(book);
  EXPECT_EQ(first.fates.dead_lettered, (std::map<std::string, std::uint64_t>{{"malformed", 1}}));
  EXPECT_EQ(first.places, (std::vector<ReceiptPlace>{{.sink = "dead_letter", .to = "s3://b/bad/1"}}));
  EXPECT_EQ(second.places, (std::vector<ReceiptPlace>{{.sink = "sink", .to = "s3://b/1"}}));

  settled.landings.back() = {*record_offset(1, 0), *record_offset(1, 0), 1, "sink", "", true};
  ReceiptBook given_up(routes_from(two_objects(), {Position{}}), {});
  EXPECT_EQ(lines_of(given_up).second.places,
            (std::vector<ReceiptPlace>{{.sink = "dead_letter", .to = "s3://b/bad/1"}, {.sink = "sink", .dropped = 1}}));
}

TEST(ReceiptBook, WhatIsLeftOutSaysWhy) {
  ReceiptBook book(routes_from(two_objects(), {Position{}}), {});
  book.leave_out(0, 0, "archived");
  std::string lines;
  ASSERT_TRUE(book.advance(0, {0, kObjectComplete}, lines));
  EXPECT_EQ(lines, "{\"object\":\"in/a\",\"etag\":\"\\\"a\\\"\",\"size\":10,\"left_out\":\"archived\"}\n");
  EXPECT_TRUE(book.partial().empty());
}

TEST(ReceiptBook, ARetriedObjectHasTheFatesOfBothRuns) {
  const auto then = two_objects();
  ListingBuilder builder;
  std::ignore = builder.add({.key = "in/b", .size = 20, .etag = {"\"mended\""}});
  const Listing now = *std::move(builder).finish();
  QuarantinedObject aside{.lane = 0, .ordinal = 1, .key = "in/b", .etag = "\"b\"", .size = 10, .records = 2};
  const PartialReceipt proven{0, watermark_of({1, 2}).value(), fates_of(0, 2), {{.sink = "sink", .to = "first"}}};
  // A retry that is killed behind the fourth record, and one that reads it to its end; the last one over another
  // version than the killed one, which counts for nothing then.
  for (const bool same_version : {true, false}) {
    std::string lines;
    ReceiptBook killed(routes_to(then, visits_of({aside}, now, 1)), {proven});
    EXPECT_EQ(killed.partial(), std::vector<PartialReceipt>{proven});
    Ledger::Settled settled;
    settled.accounts.push_back({*record_offset(1, 2), *record_offset(1, 3), said(2, 4)});
    settled.landings.push_back({*record_offset(1, 2), *record_offset(1, 3), 1, "sink", "second", false});
    killed.settle(0, settled);
    ASSERT_TRUE(killed.advance(0, {1, 4}, lines));
    const auto partial = killed.partial();
    ASSERT_EQ(partial.size(), 2U);
    EXPECT_EQ(partial[0], proven);
    EXPECT_EQ(partial[1].fates, fates_of(0, 4));

    QuarantinedObject in_part = aside;
    in_part.retry = RetryProgress{same_version ? "\"mended\"" : "\"another\"", 4};
    ReceiptBook last(routes_to(then, visits_of({in_part}, now, 1)), partial);
    const std::uint64_t from = same_version ? 4 : 2;
    Ledger::Settled rest;
    rest.accounts.push_back({*record_offset(1, from), *record_offset(1, 6), said(from, 7)});
    rest.landings.push_back({*record_offset(1, from), *record_offset(1, 6), 1, "sink", "third", false});
    last.settle(0, rest);
    last.note(0, {1, 20, 30, 5, 7});
    ASSERT_TRUE(last.advance(0, {1, kObjectComplete}, lines));
    EXPECT_TRUE(last.partial().empty());
    const auto line = parse_object(std::string_view(lines).substr(0, lines.size() - 1));
    ASSERT_TRUE(line) << lines;
    EXPECT_EQ(line->fates, fates_of(0, 7));
    EXPECT_EQ(line->size, 20U);
    EXPECT_EQ(line->etag, "\"mended\"");
    std::vector<ReceiptPlace> places{{.sink = "sink", .to = "first"}, {.sink = "sink", .to = "third"}};
    if (same_version) places.insert(places.begin() + 1, {.sink = "sink", .to = "second"});
    EXPECT_EQ(line->places, places);
  }
}

}  // namespace
}  // namespace millrace::s3_source
