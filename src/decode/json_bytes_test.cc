// SPDX-License-Identifier: Apache-2.0
// Escapes and numbers: the fast ways against the plain ones, over every place in a block, and what they are worth.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "decode/json_escapes.h"
#include "decode/json_numbers.h"
#include "decode/same_bytes.h"

namespace millrace {
namespace {

// With room behind that would change the answer if it counted.
template <class Look>
auto with_room(std::string_view text, Look look) {
  const std::string room = std::string(text) + std::string(64, '\\') + std::string(64, '9');
  return look(std::string_view(room.data(), text.size()));
}

void expect_same_scan(const std::string& document) {
  with_room(document, [](std::string_view view) {
    const EscapeScan plain = scan_escapes_plainly(view);
    const EscapeScan fast = scan_escapes(view);
    EXPECT_EQ(fast.fault, plain.fault) << view;
    EXPECT_EQ(fast.any, plain.any) << view;
  });
}

TEST(JsonEscapes, TheFastScanAgreesWithThePlainOneAtEveryPlace) {
  for (std::size_t before = 0; before < 140; ++before) {
    for (const std::string piece :
         {"", "\\n", "\\\\", "\\\\n", "\\x", "\\", "\\u00e9", "\\u00g9", "\\u00", "\\\\\\\"", "\\\n"}) {
      expect_same_scan(std::string(before, 'a') + piece);
      expect_same_scan(std::string(before, 'a') + piece + "tail");
      expect_same_scan(std::string(before, '\\') + piece + "n");
    }
  }
}

TEST(JsonEscapes, LineBreaksAreFoundWhereverTheyStand) {
  EXPECT_FALSE(has_line_breaks(""));
  EXPECT_FALSE(has_line_breaks("a\\nb\tc"));
  for (std::size_t before = 0; before < 70; ++before) {
    EXPECT_TRUE(has_line_breaks(std::string(before, 'a') + "\n"));
    EXPECT_TRUE(has_line_breaks(std::string(before, 'a') + "\rtail"));
  }
}

TEST(SameBytes, AgreesWithComparingByteByByte) {
  for (std::size_t size = 0; size < 40; ++size) {
    const std::string a(size, 'k');
    EXPECT_TRUE(same_bytes(a.data(), std::string(size, 'k').data(), size)) << size;
    for (std::size_t at = 0; at < size; ++at) {
      std::string b = a;
      b[at] = 'j';
      EXPECT_FALSE(same_bytes(a.data(), b.data(), size)) << size << " at " << at;
    }
  }
}

TEST(JsonEscapes, SayWhatTheyMean) {
  const auto plain = [](std::string_view raw, LoneSurrogates lone = LoneSurrogates::refuse) {
    std::string out(raw.size(), '\0');
    char* end = unescape(raw, out.data(), lone);
    if (end == nullptr) return std::string("refused");
    out.resize(static_cast<std::size_t>(end - out.data()));
    return out;
  };
  EXPECT_EQ(plain(R"(a\"b\\c\/d\be\ff\ng\rh\ti)"), "a\"b\\c/d\be\ff\ng\rh\ti");
  EXPECT_EQ(plain(R"(\u0041\u00e9\u20AC\ud83d\ude80)"), "A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x9A\x80");
  EXPECT_EQ(plain(R"(\u0000)"), std::string(1, '\0'));
  for (const std::string_view half :
       {R"(\ud83d)", R"(\ude80)", R"(\ud83dx)", R"(\ud83d\n)", R"(\ud83d\u0041)", R"(\ud83d\ud83d)"}) {
    EXPECT_EQ(plain(half), "refused") << half;
  }
  EXPECT_EQ(plain(R"(\ud83dA)", LoneSurrogates::keep),
            "\xED\xA0\xBD"
            "A");
}

bool is_number(std::string_view text) {
  return with_room(text, [](std::string_view view) {
    const char* end = view.data() + view.size();
    const bool fast = is_json_number(view.data(), end);
    EXPECT_EQ(fast, is_json_number_plainly(view.data(), end)) << view;
    return fast;
  });
}

TEST(JsonNumbers, EveryShortSpellingIsJudgedAlikeBothWays) {
  const std::string_view alphabet = "-+.eE019 x";
  std::vector<std::string> level{""};
  std::size_t sound = 0;
  for (int length = 1; length <= 5; ++length) {
    std::vector<std::string> next;
    for (const std::string& prefix : level) {
      for (const char c : alphabet) next.push_back(prefix + c);
    }
    for (const std::string& text : next) sound += is_number(text) ? 1 : 0;
    level = std::move(next);
  }
  EXPECT_GT(sound, 0U);
  for (const std::string_view good : {"0", "-0", "10", "1.0", "-1.50", "0.05", "1e1", "1E-10", "0e0",
                                      "1234567890123456", "12345678901234567", "-123456789.12345678", "1 ", "1.5\n"}) {
    EXPECT_TRUE(is_number(good)) << good;
  }
  for (const std::string_view bad :
       {"", "-", "00", "01", "-01", "1.", ".1", "1.e1", "1e", "1e+", "1.2.3", "1-", "--1", "0x1", "1a", "1 2", "NaN"}) {
    EXPECT_FALSE(is_number(bad)) << bad;
  }
}

RC_GTEST_PROP(JsonNumbersProperty, LongSpellingsAreJudgedAlikeBothWays, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("0123456789.-eE+ ")));
  is_number(text);
}

}  // namespace
}  // namespace millrace
