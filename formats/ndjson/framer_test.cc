// SPDX-License-Identifier: Apache-2.0
// Goal: the framer is a pure function of the byte stream. Method: small streams over an alphabet of every byte that
// matters are cut at every place and compared with a model that reads one byte at a time; the rows of tests/FAULTS.md C
// by hand.
#include "formats/ndjson/framer.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <string>
#include <vector>

#include "formats/ndjson/line_model.h"
#include "framing/framer_testing.h"
#include "millrace/base/bytes.h"

namespace millrace::ndjson {
namespace {

using namespace std::string_literals;

Framed framed_with_cuts(const std::string& stream, const std::vector<std::size_t>& cuts, std::size_t max_frames,
                        std::size_t max_record_bytes) {
  NdjsonFramer framer(FramerOptions{.max_record_bytes = max_record_bytes});
  const framing::FramedStream got = framing::frame_in_pieces(framer, stream, cuts, max_frames);
  if (got.error) {
    EXPECT_EQ(got.error->code(), ErrorCode::too_large);
  }
  return {got.records, got.error.has_value(), got.position};
}

const std::vector<std::string>& pieces() {
  static const std::vector<std::string> all{
      "\n",   "\r\n",         "\r",   " ",    "\t",   "\v",   "\f",  "a", "{\"n\":1}", std::string(1, '\0'),
      "\xff", "\xEF\xBB\xBF", "\xEF", "\xBB", "\n\n", "\x0e", "\x1f"};
  return all;
}

rc::Gen<std::string> stream_of_pieces() {
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(pieces())),
                      [](const std::vector<std::string>& parts) {
                        std::string all;
                        for (const auto& part : parts) all += part;
                        return all;
                      });
}

TEST(NdjsonFramer, AllCutsOfSmallStreamsGiveTheSameFrames) {
  EXPECT_TRUE(rc::check("every pair of cuts", [] {
    std::string stream = *rc::gen::resize(14, stream_of_pieces());
    if (stream.size() > 28) stream.resize(28);
    const auto max_record_bytes = *rc::gen::element<std::size_t>(2, 5, 1000);
    const auto max_frames = *rc::gen::element<std::size_t>(1, 2, 100);
    const Framed expected = model_of_lines(stream, max_record_bytes);
    for (std::size_t a = 0; a <= stream.size(); ++a) {
      for (std::size_t b = a; b <= stream.size(); ++b) {
        const Framed got = framed_with_cuts(stream, {a, b}, max_frames, max_record_bytes);
        if (!expected.too_large) {
          RC_ASSERT(got == expected);
        } else {
          RC_ASSERT(got.too_large);
          RC_ASSERT(got.line_of_error == expected.line_of_error);
          RC_ASSERT(got.records == expected.records);
        }
      }
    }
  }));
}

TEST(NdjsonFramer, OneByteWindowsGiveTheSameFrames) {
  EXPECT_TRUE(rc::check("a cut after each byte", [] {
    const std::string stream = *rc::gen::resize(40, stream_of_pieces());
    RC_ASSERT(framed_with_cuts(stream, framing::every_cut(stream), 3, 1000) == model_of_lines(stream, 1000));
  }));
}

TEST(NdjsonFramer, LargeStreamsWithRandomCutsGiveTheSameFrames) {
  EXPECT_TRUE(rc::check("lines of all lengths around the piece size", [] {
    std::string stream;
    const auto lengths = *rc::gen::container<std::vector<std::size_t>>(
        rc::gen::oneOf(rc::gen::inRange<std::size_t>(0, 80), rc::gen::inRange<std::size_t>(4090, 4100),
                       rc::gen::inRange<std::size_t>(0, 20000)));
    for (const std::size_t length : lengths) {
      stream += std::string(length, *rc::gen::element('x', ' ', '\r'));
      stream += *rc::gen::element<std::string>("\n", "\r\n", "\n \t\n", "");
    }
    std::vector<std::size_t> cuts =
        *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, stream.size() + 1));
    std::sort(cuts.begin(), cuts.end());
    const auto max_frames = *rc::gen::element<std::size_t>(1, 7, 5000);
    RC_ASSERT(framed_with_cuts(stream, cuts, max_frames, 1U << 20U) == model_of_lines(stream, 1U << 20U));
  }));
}

std::vector<std::string> records_of(const std::string& stream) {
  const Framed framed = framed_with_cuts(stream, {}, 1000, 1U << 20U);
  EXPECT_FALSE(framed.too_large);
  return framed.records;
}
using Records = std::vector<std::string>;

TEST(NdjsonFramer, C03_UnterminatedLastLineIsARecord) {
  EXPECT_EQ(records_of("{\"n\":1}\n{\"n\":2}"), (Records{"{\"n\":1}", "{\"n\":2}"}));
  EXPECT_EQ(records_of("{\"n\":1}"), Records{"{\"n\":1}"});
  EXPECT_EQ(records_of("a\r"), Records{"a"});
}

TEST(NdjsonFramer, C04_BlankLinesAreSkippedAndTakeNoIndex) {
  EXPECT_EQ(records_of("{\"n\":1}\n\n{\"n\":2}\n   \n\t\n{\"n\":3}\n"),
            (Records{"{\"n\":1}", "{\"n\":2}", "{\"n\":3}"}));
  EXPECT_EQ(records_of("\n\n\n\n"), Records{});
  EXPECT_EQ(records_of(" \t\r\v\f\n\r\n\r\r\n"), Records{});
  EXPECT_EQ(records_of(""), Records{});
  EXPECT_EQ(records_of("   "), Records{});
  // Nothing but those six bytes is blank, and nothing is trimmed.
  EXPECT_EQ(records_of("\0\n\x1f\n\x0e\n\xc2\xa0\n a \n"s),
            (Records{std::string(1, '\0'), "\x1f", "\x0e", "\xc2\xa0", " a "}));
}

TEST(NdjsonFramer, C05_ALineAtTheLimitPassesAndOneByteMoreIsNamed) {
  const std::string at_limit(1000, 'x');
  for (const std::string end : {"\n", "\r\n", "", "\r"}) {
    NdjsonFramer framer(FramerOptions{.max_record_bytes = 1000});
    const std::string stream = "ok\n\n" + at_limit + end + std::string(kBytePadding, '\n');
    Frames frames;
    const std::size_t size = stream.size() - kBytePadding;
    ASSERT_EQ(framer.frame({stream.data(), size}, true, 10, frames), size);
    EXPECT_EQ(frames, (Frames{"ok", at_limit}));
  }
  NdjsonFramer framer(FramerOptions{.max_record_bytes = 1000});
  const std::string stream = "ok\n\n" + at_limit + "y\nnext\n" + std::string(kBytePadding, '\n');
  const std::size_t size = stream.size() - kBytePadding;
  Frames frames;
  ASSERT_EQ(framer.frame({stream.data(), size}, true, 10, frames), 4U);  // what comes before is handed out first
  EXPECT_EQ(frames, Frames{"ok"});
  const auto refused = framer.frame({stream.data() + 4, size - 4}, true, 10, frames);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::too_large);
  EXPECT_TRUE(refused.error().is_fatal());
  EXPECT_EQ(refused.error().message(),
            "line 3 is longer than max_record_bytes: 1001 bytes, limit 1000; raise max_record_bytes, or check that the "
            "data is one record per line");
}

TEST(NdjsonFramer, C05_ALongLineIsRefusedBeforeItIsWhole) {
  NdjsonFramer framer(FramerOptions{.max_record_bytes = 1000});
  const std::string window(5000 + kBytePadding, 'x');
  Frames frames;
  const auto refused = framer.frame({window.data(), 5000}, false, 10, frames);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("line 1 is longer than max_record_bytes: at least "), std::string::npos);
  EXPECT_NE(refused.error().message().find("limit 1000"), std::string::npos);
}

// A compressed object can hold gigabytes of blanks: empty lines are consumed as they come, one line of them is a line.
TEST(NdjsonFramer, C05_BlanksAreNotGathered) {
  for (const std::string start : {"", "\xEF\xBB\xBF"}) {
    NdjsonFramer lines(FramerOptions{.max_record_bytes = 1000});
    const std::string window = start + std::string(5000 + kBytePadding, '\n');
    Frames frames;
    EXPECT_EQ(lines.frame({window.data(), start.size() + 5000}, false, 10, frames), start.size() + 5000);
    EXPECT_TRUE(frames.empty());
    NdjsonFramer line(FramerOptions{.max_record_bytes = 1000});
    const std::string blanks = std::string(5000 + kBytePadding, ' ');
    const auto refused = line.frame({blanks.data(), 5000}, false, 10, frames);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::too_large);
  }
}

TEST(NdjsonFramer, C06_BomAtTheStartOnly) {
  EXPECT_EQ(records_of("\xEF\xBB\xBF{\"n\":1}\n{\"n\":2}\n"), (Records{"{\"n\":1}", "{\"n\":2}"}));
  EXPECT_EQ(records_of("\xEF\xBB\xBF"), Records{});
  EXPECT_EQ(records_of("\xEF\xBB\xBF\n"), Records{});
  EXPECT_EQ(records_of("\n\xEF\xBB\xBF"), Records{"\xEF\xBB\xBF"});
  EXPECT_EQ(records_of("\xEF\xBB\xBF\xEF\xBB\xBF"), Records{"\xEF\xBB\xBF"});
  EXPECT_EQ(records_of("\xEF\xBB"), Records{"\xEF\xBB"});
}

TEST(NdjsonFramer, C07_NulAndInvalidUtf8Pass) {
  const std::string stream = "{\"n\":\"\xff\"}\n\0\0\n{\"n\":\"\xed\xa0\x80\"}\n"s;
  EXPECT_EQ(records_of(stream), (Records{"{\"n\":\"\xff\"}", std::string(2, '\0'), "{\"n\":\"\xed\xa0\x80\"}"}));
}

TEST(NdjsonFramer, C09_CrlfSplitAcrossReads) {
  const std::string stream = "a\r\nb\rc\r\nd\r\r\n";
  for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
    EXPECT_EQ(framed_with_cuts(stream, {cut}, 10, 100).records, (Records{"a", "b\rc", "d\r"})) << cut;
  }
}

TEST(NdjsonFramer, ResetBeginsAnotherStream) {
  NdjsonFramer framer(FramerOptions{});
  const std::string stream = "\xEF\xBB\xBFx" + std::string(kBytePadding, '\n');
  for (int i = 0; i < 2; ++i) {
    Frames frames;
    ASSERT_EQ(framer.frame({stream.data(), 4}, true, 10, frames), 4U);
    EXPECT_EQ(frames, Frames{"x"});
    EXPECT_EQ(framer.position(), 2U);
    framer.reset();
  }
}

}  // namespace
}  // namespace millrace::ndjson
