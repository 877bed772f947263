// SPDX-License-Identifier: Apache-2.0
#include "testing/pipeline/lent_bytes.h"

#include <gtest/gtest.h>

#include "millrace/base/borrow.h"
#include "millrace/base/bytes.h"

namespace millrace::testing {
namespace {

TEST(LentBytes, LendsCopiesWithPadding) {
  LentBytes lent;
  const auto& views = lent.lend({"one", "", "three"});
  ASSERT_EQ(views.size(), 3U);
  EXPECT_EQ(views[0], "one");
  EXPECT_EQ(views[1], "");
  EXPECT_EQ(views[2], "three");
  EXPECT_EQ(views[2].data()[views[2].size() + kBytePadding - 1], 0);
}

#if defined(MILLRACE_ASAN)
TEST(LentBytes, WhatWasTakenBackIsPoisoned) {
  LentBytes lent;
  const std::string_view kept = lent.lend({"payload"})[0];
  EXPECT_EQ(__asan_region_is_poisoned(const_cast<char*>(kept.data()), kept.size()), nullptr);
  lent.take_back();
  EXPECT_NE(__asan_region_is_poisoned(const_cast<char*>(kept.data()), kept.size()), nullptr);
}
#else
TEST(LentBytes, WhatWasTakenBackIsOverwritten) {
  LentBytes lent;
  const std::string_view kept = lent.lend({"payload"})[0];
  lent.take_back();
  EXPECT_NE(kept, "payload");  // the block is kept for a while, so this is a read of live memory
}
#endif

}  // namespace
}  // namespace millrace::testing
