// SPDX-License-Identifier: Apache-2.0
#include "millrace/base/printable.h"

#include <gtest/gtest.h>

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

TEST(Printable, LongTextIsCut) { EXPECT_EQ(printable("abcdef", 3), "abc..."); }

}  // namespace
}  // namespace millrace
