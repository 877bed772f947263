// SPDX-License-Identifier: Apache-2.0
#include "millrace/base/printable.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "millrace/base/utf8.h"

namespace millrace {
namespace {

// A08: a tab in a key is seen in the message, and nothing in a key begins a new log line.
TEST(Printable, A08_ControlCharactersAreShown) {
  EXPECT_EQ(printable("in/with space\t.ndjson"), "in/with space\\t.ndjson");
  EXPECT_EQ(printable("a\nb\rc\\d"), "a\\nb\\rc\\\\d");
  EXPECT_EQ(printable(std::string_view("a\0b\x01\x7f", 5)), "a\\x00b\\x01\\x7f");
  EXPECT_EQ(printable("a\xC2\x85z"), "a\\xc2\\x85z") << "U+0085 ends a line for some readers";
}

// A11: both spellings of é pass as they are.
TEST(Printable, A11_Utf8PassesAndTheRestIsEscaped) {
  EXPECT_EQ(printable("in/\xC3\xA9"), "in/\xC3\xA9");
  EXPECT_EQ(printable("in/e\xCC\x81"), "in/e\xCC\x81");
  EXPECT_EQ(printable("\xF0\x9F\x8C\x8A"), "\xF0\x9F\x8C\x8A");
  EXPECT_EQ(printable("\xFF\xC3"), "\\xff\\xc3");
  EXPECT_EQ(printable("\xED\xA0\x80"), "\\xed\\xa0\\x80") << "a surrogate is not UTF-8";
  EXPECT_EQ(printable("\xC0\xAF"), "\\xc0\\xaf") << "an overlong form is not UTF-8";
}

TEST(Printable, LongTextIsCutBetweenCharacters) {
  EXPECT_EQ(printable("abcdef", 3), "abc...");
  EXPECT_EQ(printable("ab\xC3\xA9", 3), "ab...");
  EXPECT_EQ(printable("abc", 3), "abc");
  EXPECT_EQ(printable("\x80\x80\x80", 2), "...");
}

TEST(Printable, WhatIsNotSeenOrMovesItsNeighboursIsShown) {
  EXPECT_EQ(printable("\x1b[31mred\x07"), "\\x1b[31mred\\x07");
  EXPECT_EQ(printable("a\xE2\x80\xAEz"), "a\\xe2\\x80\\xaez") << "right-to-left override";
  EXPECT_EQ(printable("a\xE2\x80\x8Bz"), "a\\xe2\\x80\\x8bz") << "a space of no width";
  EXPECT_EQ(printable("a\xEF\xBB\xBFz"), "a\\xef\\xbb\\xbfz") << "a byte order mark";
}

TEST(Printable, A08_SpacesAtTheEndsOfAKeyAreSeen) {
  EXPECT_EQ(printable_key(" in/a b "), "\\x20in/a b\\x20");
  EXPECT_EQ(printable_key("in/\ta"), "in/\\ta");
  EXPECT_EQ(printable_key("  "), "\\x20\\x20");
  EXPECT_EQ(printable_key(""), "");
}

RC_GTEST_PROP(PrintableProperty, IsPlainUtf8AndTellsInputsApart, (const std::string& a, const std::string& b)) {
  const std::string shown = printable(a);
  RC_ASSERT(first_invalid_utf8(shown) == std::string::npos);
  for (const char c : shown) RC_ASSERT(static_cast<unsigned char>(c) >= 0x20 && c != 0x7F);
  RC_ASSERT((a == b) == (shown == printable(b)));
}

TEST(Utf8, FirstInvalidByteByTheTableOfTheStandard) {
  EXPECT_EQ(first_invalid_utf8("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"), std::string::npos);
  EXPECT_EQ(first_invalid_utf8("ab\x80"), 2U);
  EXPECT_EQ(first_invalid_utf8("a\xC0\x80"), 1U) << "overlong";
  EXPECT_EQ(first_invalid_utf8("a\xE0\x80\x80"), 1U) << "overlong";
  EXPECT_EQ(first_invalid_utf8("a\xF4\x90\x80\x80"), 1U) << "above U+10FFFF";
  EXPECT_EQ(first_invalid_utf8("abc\xE2\x82"), 3U) << "cut short";
  EXPECT_EQ(count_characters("a\xC3\xA9\xE2\x82\xAC"), 3U);
}

}  // namespace
}  // namespace millrace
