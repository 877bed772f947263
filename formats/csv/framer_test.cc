// SPDX-License-Identifier: Apache-2.0
// Goal: rows end where a reader of CSV ends them, however the stream is cut; the header is known and is no record; what
// cannot be read is told with row, line and way out. Method: small streams of every byte that matters, cut at every
// pair of places, against a machine that reads one byte at a time; the refusals by hand. What rows hold: see
// records_test.cc.
#include "formats/csv/framer.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <string>
#include <vector>

#include "formats/csv/row_model.h"
#include "framing/framer_testing.h"

namespace millrace::csv {
namespace {

using Records = std::vector<std::string>;
using Names = std::vector<std::string>;

framing::FramedStream framed(const std::string& stream, const std::vector<std::size_t>& cuts = {},
                             std::size_t max_frames = 1000, FramerOptions options = {}) {
  CsvFramer framer(options);
  return framing::frame_in_pieces(framer, stream, cuts, max_frames, '"');
}

Names names_of(const std::string& stream, CsvDialect dialect = {}) {
  CsvFramer framer(FramerOptions{.csv = dialect});
  EXPECT_FALSE(framing::frame_in_pieces(framer, stream, {}, 10).error);
  return framer.columns() ? framer.columns()->names : Names{};
}

rc::Gen<std::string> any_text() {
  return rc::gen::map(
      rc::gen::container<std::vector<std::string>>(rc::gen::weightedElement<std::string>(
          {{4, "\""}, {3, ","}, {2, "\n"}, {1, "\r\n"}, {1, "\r"}, {2, "a"}, {1, "\"\""}, {1, "\xC3\xA9"}})),
      [](const std::vector<std::string>& parts) {
        std::string all;
        for (const auto& part : parts) all += part;
        return all;
      });
}

void expect_model(const std::string& stream, const std::vector<std::size_t>& cuts, std::size_t max_frames) {
  const RowsOfText expected = model_of_rows(stream);
  const auto got = framed(stream, cuts, max_frames);
  RC_ASSERT(got.error.has_value() == expected.open_quotes);
  Records rows = expected.rows;
  if (!rows.empty()) rows.erase(rows.begin());
  RC_ASSERT(got.records == rows);
}

TEST(CsvFramer, AllCutsOfSmallStreamsGiveTheSameRows) {
  EXPECT_TRUE(rc::check("every pair of cuts", [] {
    std::string stream = *rc::gen::element<std::string>("", "\xEF\xBB\xBF") +
                         *rc::gen::element<std::string>("h,k\n", "\n\r\n\"h\n\"\"\"\r\n");
    stream += *rc::gen::resize(14, any_text());
    const auto max_frames = *rc::gen::element<std::size_t>(1, 2, 100);
    for (std::size_t a = 0; a <= stream.size(); ++a) {
      for (std::size_t b = a; b <= stream.size(); ++b) expect_model(stream, {a, b}, max_frames);
    }
  }));
}

TEST(CsvFramer, OneByteWindowsGiveTheSameRows) {
  EXPECT_TRUE(rc::check("a cut after each byte", [] {
    const std::string stream = "h\n" + *rc::gen::resize(60, any_text());
    expect_model(stream, framing::every_cut(stream), *rc::gen::element<std::size_t>(1, 3, 100));
  }));
}

TEST(CsvFramer, RowsOfAllLengthsAroundThePieceSize) {
  EXPECT_TRUE(rc::check("long rows, with quotes and without", [] {
    std::string stream = "h\n";
    const auto lengths = *rc::gen::container<std::vector<std::size_t>>(
        rc::gen::oneOf(rc::gen::inRange<std::size_t>(0, 80), rc::gen::inRange<std::size_t>(4090, 4100),
                       rc::gen::inRange<std::size_t>(0, 20000)));
    for (const std::size_t length : lengths) {
      const std::string fill(length, *rc::gen::element('x', '\n', '\r', ',', '"'));
      stream += *rc::gen::element<std::string>("", "\"") + fill + *rc::gen::element<std::string>("", "\"");
      stream += *rc::gen::element<std::string>("\n", "\r\n");
    }
    auto cuts = *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, stream.size() + 1));
    std::sort(cuts.begin(), cuts.end());
    expect_model(stream, cuts, *rc::gen::element<std::size_t>(1, 7, 5000));
  }));
}

TEST(CsvFramer, C09_RowsEndAtLfAndCrlfOutsideQuotes) {
  const std::string stream = "a,b\r\n1,\"x\r\ny\"\r\n\r\n2,\"\"\"\n\"\"\"\n3,z";
  for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
    EXPECT_EQ(framed(stream, {cut}).records, (Records{"1,\"x\r\ny\"", "2,\"\"\"\n\"\"\"", "3,z"})) << cut;
  }
}

TEST(CsvFramer, C03_C04_AnUnterminatedLastRowIsOneAndEmptyLinesAreNone) {
  EXPECT_EQ(framed("a\n1").records, Records{"1"});
  EXPECT_EQ(framed("a\n1\r").records, Records{"1"});
  EXPECT_EQ(framed("\n\r\na\n\n1\n\n").records, Records{"1"});
  EXPECT_EQ(framed("a\n\"\"\n \n").records, (Records{"\"\"", " "}));
  for (const std::string nothing : {"", "\n\n", "a,b", "a,b\n", "\xEF\xBB\xBF",
                                    "\xEF\xBB\xBF"
                                    "a\n"}) {
    const auto got = framed(nothing);
    EXPECT_FALSE(got.error) << nothing;
    EXPECT_EQ(got.records, Records{}) << nothing;
  }
}

TEST(CsvFramer, TheHeaderBecomesTheColumns) {
  EXPECT_EQ(names_of("a,\"b,\"\"\n\",,\xC3\xA9\r\n1,2,3,4\n"), (Names{"a", "b,\"\n", "", "\xC3\xA9"}));
  EXPECT_EQ(names_of("\xEF\xBB\xBF"
                     "a;b\n",
                     {.delimiter = ';'}),
            (Names{"a", "b"}));
  EXPECT_EQ(names_of("'a;''';b\"\n", {.delimiter = ';', .quote = '\''}), (Names{"a;'", "b\""}));
  EXPECT_EQ(names_of("a\tb\n", {.delimiter = '\t'}), (Names{"a", "b"}));
  EXPECT_EQ(names_of(" a ,b\n"), (Names{" a ", "b"}));
  EXPECT_EQ(names_of("a,,a,\n1,2,3,4\n"), (Names{"a", "", "a", ""}));  // the decoder's to judge
  EXPECT_EQ(names_of(""), Names{});

  CsvFramer framer(FramerOptions{});
  EXPECT_FALSE(framing::frame_in_pieces(framer, "a\n1\n", {}, 10).error);
  const auto first = framer.columns();
  framer.reset();
  EXPECT_EQ(framer.columns(), nullptr);
  EXPECT_EQ(framing::frame_in_pieces(framer, "b\n2\n", {}, 10).records, Records{"2"});
  EXPECT_EQ(first->names, Names{"a"});
  EXPECT_EQ(framer.columns()->names, Names{"b"});
}

struct Refusal {
  std::string stream;
  Records before;
  std::uint64_t line;
  ErrorCode code;
  std::string message;
};

TEST(CsvFramer, WhatIsWrongIsToldWithRowLineAndTheWayOut) {
  const std::string bad_header = "the header of this CSV cannot be read: ";
  const Refusal refusals[] = {
      {"\n\na,\"b\"c\n",
       {},
       3,
       ErrorCode::malformed,
       bad_header + "byte 5: something follows the closing quote of a field; quotes within one are doubled"},
      {"a,b\r1,2\r3,4\r",
       {},
       1,
       ErrorCode::malformed,
       bad_header +
           "byte 3: a carriage return or newline stands outside quotes; rows end with LF or CRLF here, and lines "
           "that end with CR alone are to be rewritten"},
      {"a,\xE9\n1,2\n",
       {},
       1,
       ErrorCode::malformed,
       bad_header + "it is not valid UTF-8 at byte 2; rewrite the object as UTF-8"},
      {std::string("\xFF\xFE"
                   "a\0\n\0",
                   6),
       {},
       1,
       ErrorCode::malformed,
       bad_header + "it is not valid UTF-8 at byte 0; the object begins like UTF-16; rewrite it as UTF-8"},
      {"a,b\n1,2\n\n3,\"x\ny,\"\"\n4,5\n",
       {"1,2"},
       4,
       ErrorCode::truncated,
       "the object ends inside the quotes of row 2, which begins in line 4, which open in line 4: it was cut off, or a "
       "quote is missing or too many"},
      {"a,b\n\"x\ny\",\"z",
       {},
       2,
       ErrorCode::truncated,
       "the object ends inside the quotes of row 1, which begins in line 2, which open in line 3: it was cut off, or a "
       "quote is missing or too many"},
      {"a,\"b\n",
       {},
       1,
       ErrorCode::truncated,
       "the object ends inside the quotes of the header, which begins in line 1, which open in line 1: it was cut off, "
       "or "
       "a quote is missing or too many"},
  };
  for (const Refusal& refusal : refusals) {
    for (std::size_t cut = 0; cut <= refusal.stream.size(); ++cut) {
      const auto got = framed(refusal.stream, {cut}, 1 + cut % 3);
      EXPECT_EQ(got.records, refusal.before) << refusal.stream;
      ASSERT_TRUE(got.error) << refusal.stream;
      EXPECT_TRUE(got.error->is_fatal());
      EXPECT_EQ(got.error->code(), refusal.code) << refusal.stream;
      EXPECT_EQ(got.error->message(), refusal.message) << refusal.stream;
      EXPECT_EQ(got.position, refusal.line) << refusal.stream;
    }
  }
}

TEST(CsvFramer, C05_ARowAtTheLimitPassesAndOneByteMoreIsNamed) {
  const FramerOptions limit{.max_record_bytes = 10};
  for (const std::string end : {"\n", "\r\n", "", "\r"}) {
    EXPECT_EQ(framed("a\n" + std::string(10, 'x') + end, {}, 10, limit).records, Records{std::string(10, 'x')});
  }
  const auto got = framed("a\nok\n" + std::string(11, 'x') + "\n", {}, 10, limit);
  EXPECT_EQ(got.records, Records{"ok"});
  ASSERT_TRUE(got.error);
  EXPECT_EQ(got.error->code(), ErrorCode::too_large);
  EXPECT_EQ(
      got.error->message(),
      "row 2, which begins in line 3, is longer than max_record_bytes: 11 bytes, limit 10; raise max_record_bytes, "
      "or check that the data is CSV");
  EXPECT_NE(framed(std::string(11, 'h') + "\n", {}, 10, limit).error->message().find("the header"), std::string::npos);
}

TEST(CsvFramer, C05_EmptyLinesBeforeTheHeaderAreNotGathered) {
  for (const std::string start : {"", "\xEF\xBB\xBF"}) {
    CsvFramer framer(FramerOptions{.max_record_bytes = 1000});
    std::string window = start;
    for (int i = 0; i < 2500; ++i) window += "\r\n";
    const std::size_t size = window.size();
    window += std::string(kBytePadding, '\n');
    Frames frames;
    EXPECT_EQ(framer.frame({window.data(), size}, false, 10, frames), size);
    EXPECT_TRUE(frames.empty());
    EXPECT_EQ(framer.position(), 2501U);
  }
}

TEST(CsvFramer, C05_AQuoteThatNeverClosesIsNamedBeforeTheRowIsWhole) {
  CsvFramer framer(FramerOptions{.max_record_bytes = 1000});
  const std::string stream = "a,b\n1,\"2\n" + std::string(5000, 'x') + std::string(kBytePadding, '"');
  Frames frames;
  ASSERT_EQ(framer.frame({stream.data(), stream.size() - kBytePadding}, false, 10, frames), 4U);
  const auto refused = framer.frame({stream.data() + 4, stream.size() - kBytePadding - 4}, false, 10, frames);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::too_large);
  EXPECT_NE(refused.error().message().find("row 1, which begins in line 2, is longer than max_record_bytes: at least "),
            std::string::npos);
  EXPECT_NE(refused.error().message().find("the quote that opens in line 2 may be meant to close before"),
            std::string::npos);
}

}  // namespace
}  // namespace millrace::csv
