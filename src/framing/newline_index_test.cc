// SPDX-License-Identifier: Apache-2.0
#include "framing/newline_index.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <memory>
#include <string>
#include <vector>

namespace millrace::framing {
namespace {

std::vector<std::uint32_t> one_by_one(const std::string& bytes) {
  std::vector<std::uint32_t> found;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] == '\n') found.push_back(static_cast<std::uint32_t>(i));
  }
  return found;
}

// Each on its own heap block with exactly the promised room, so that ASan sees a byte too many.
std::vector<std::uint32_t> with(FindNewlines find, const std::string& bytes) {
  const auto padded = std::make_unique<char[]>(bytes.size() + 63);
  std::fill_n(padded.get(), bytes.size() + 63, '\n');  // behind the range there may be newlines, and they do not count
  bytes.copy(padded.get(), bytes.size());
  std::vector<std::uint32_t> positions(bytes.size() + 1);
  positions.resize(find(padded.get(), bytes.size(), positions.data()));
  return positions;
}

TEST(NewlineIndex, FindsEveryNewlineAndNoOther) {
  int candidates = 0;
  for (const FindNewlines* find = all_find_newlines(); *find != nullptr; ++find, ++candidates) {
    EXPECT_TRUE(rc::check("positions equal those of a byte loop", [find] {
      const auto size = *rc::gen::inRange<std::size_t>(0, 1200);
      const int one_in = *rc::gen::element(1, 2, 40, 200, 2000);
      const auto bytes = *rc::gen::container<std::string>(
          size, rc::gen::weightedElement<char>({{1, '\n'},
                                                {static_cast<std::size_t>(one_in), 'a'},
                                                {static_cast<std::size_t>(one_in), '\x8a'},
                                                {static_cast<std::size_t>(one_in), '\0'}}));
      RC_ASSERT(with(*find, bytes) == one_by_one(bytes));
    }));
  }
#if defined(__x86_64__)
  EXPECT_GE(candidates, 2);
#endif
  EXPECT_GE(candidates, 1);
}

TEST(NewlineIndex, TakesNothingButNewlines) {
  for (const FindNewlines* find = all_find_newlines(); *find != nullptr; ++find) {
    const std::string all(4096, '\n');
    EXPECT_EQ(with(*find, all), one_by_one(all));
    EXPECT_EQ(with(*find, ""), std::vector<std::uint32_t>{});
  }
}

}  // namespace
}  // namespace millrace::framing
