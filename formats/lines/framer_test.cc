// SPDX-License-Identifier: Apache-2.0
// Goal: every line is a record, however the stream is cut. Method: small streams cut at every pair of places, compared
// with std::getline.
#include "formats/lines/framer.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <sstream>
#include <string>
#include <vector>

#include "framing/framer_testing.h"

namespace millrace::lines {
namespace {

using namespace std::string_literals;
using Records = std::vector<std::string>;

Records lines_by_getline(const std::string& stream) {
  Records lines;
  std::istringstream in(stream);
  for (std::string line; std::getline(in, line);) {
    if (line.ends_with('\r')) line.pop_back();
    lines.push_back(line);
  }
  return lines;
}

framing::FramedStream framed(const std::string& stream, const std::vector<std::size_t>& cuts = {},
                             std::size_t max_frames = 1000, std::size_t max_record_bytes = 1U << 20U) {
  const auto framer = make_line_framer({.max_record_bytes = max_record_bytes});
  return framing::frame_in_pieces(*framer, stream, cuts, max_frames);
}

TEST(LinesFramer, AllCutsOfSmallStreamsGiveTheSameLines) {
  EXPECT_TRUE(rc::check("every pair of cuts", [] {
    const auto parts = *rc::gen::resize(
        14, rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
                "\n", "\r\n", "\r", " ", "\t", "a", "text", "\xff", "\xEF\xBB\xBF", "\n\n", std::string(1, '\0'))));
    std::string stream;
    for (const auto& part : parts) stream += part;
    if (stream.size() > 28) stream.resize(28);
    const auto max_frames = *rc::gen::element<std::size_t>(1, 2, 100);
    const Records expected = lines_by_getline(stream);
    for (std::size_t a = 0; a <= stream.size(); ++a) {
      for (std::size_t b = a; b <= stream.size(); ++b)
        RC_ASSERT(framed(stream, {a, b}, max_frames).records == expected);
    }
    RC_ASSERT(framed(stream, framing::every_cut(stream), max_frames).records == expected);
  }));
}

TEST(LinesFramer, C04_BlankLinesAreRecords) {
  EXPECT_EQ(framed("a\n\nb\n  \n\t\r\n").records, (Records{"a", "", "b", "  ", "\t"}));
  EXPECT_EQ(framed("\n").records, Records{""});
  EXPECT_EQ(framed("\r\n\n").records, (Records{"", ""}));
  EXPECT_EQ(framed("").records, Records{});
}

TEST(LinesFramer, C03_AnUnterminatedLastLineIsARecord) {
  EXPECT_EQ(framed("a\nb").records, (Records{"a", "b"}));
  EXPECT_EQ(framed("a\n\r").records, (Records{"a", ""}));
  EXPECT_EQ(framed("a\n ").records, (Records{"a", " "}));
}

TEST(LinesFramer, C06_AByteOrderMarkStays) {
  EXPECT_EQ(framed("\xEF\xBB\xBF"
                   "a\nb\n")
                .records,
            (Records{"\xEF\xBB\xBF"
                     "a",
                     "b"}));
}

TEST(LinesFramer, C05_ALineOverTheLimitIsNamed) {
  const auto got = framed("ok\n\n" + std::string(11, 'x') + "\n", {}, 10, 10);
  EXPECT_EQ(got.records, (Records{"ok", ""}));
  ASSERT_TRUE(got.error);
  EXPECT_EQ(got.error->code(), ErrorCode::too_large);
  EXPECT_EQ(got.position, 3U);
  EXPECT_NE(got.error->message().find("line 3 is longer than max_record_bytes: 11 bytes, limit 10"), std::string::npos);
}

}  // namespace
}  // namespace millrace::lines
