// SPDX-License-Identifier: Apache-2.0
#include "millrace/encode/object_name.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace millrace {
namespace {

std::string named(std::string_view name, NameEncoding encoding) {
  std::string out = "x";
  append_object_name(out, name, encoding);
  return out.substr(1);
}

std::string kept(std::string segment, NameEncoding encoding, bool hides_dots = false) {
  std::string path = "a/" + segment;
  keep_segment(path, 2, encoding, hides_dots);
  return path;
}

TEST(ObjectName, OneUnderscoreForACharacter) {
  EXPECT_EQ(named("a/b c", NameEncoding::replace), "a_b_c");
  EXPECT_EQ(named("\xC3\xA9\xE2\x82\xAC", NameEncoding::replace), "__");
  EXPECT_EQ(named("x.y_z-1", NameEncoding::replace), "x.y_z-1");
}

TEST(ObjectName, PercentKeepsEveryByte) {
  EXPECT_EQ(named("a/b c", NameEncoding::percent), "a%2Fb%20c");
  EXPECT_EQ(named("100%", NameEncoding::percent), "100%25");
  EXPECT_EQ(named(std::string_view("\x00\xFF", 2), NameEncoding::percent), "%00%FF");
}

TEST(ObjectName, SegmentsLeadNowhereElse) {
  EXPECT_EQ(kept("..", NameEncoding::replace), "a/__");
  EXPECT_EQ(kept(".", NameEncoding::replace), "a/_");
  EXPECT_EQ(kept("..", NameEncoding::percent), "a/%2E%2E");
  EXPECT_EQ(kept("", NameEncoding::replace), "a/_");
  EXPECT_EQ(kept("", NameEncoding::percent), "a/%00");
  EXPECT_EQ(kept("...", NameEncoding::replace), "a/...");
  EXPECT_EQ(kept(".x", NameEncoding::replace), "a/.x");
  EXPECT_EQ(kept(".x", NameEncoding::replace, true), "a/_x");
  EXPECT_EQ(kept(".x", NameEncoding::percent, true), "a/%2Ex");
}

// Different names stay different under `percent`, whatever the store hides.
RC_GTEST_PROP(ObjectNameProperty, PercentNeverMakesTwoNamesOne, (std::string one, std::string other, bool hides_dots)) {
  RC_PRE(one != other && !one.empty() && !other.empty());
  const auto key = [&](const std::string& name) {
    return kept(named(name, NameEncoding::percent), NameEncoding::percent, hides_dots);
  };
  RC_ASSERT(key(one) != key(other));
  RC_ASSERT(key(one).find('/', 2) == std::string::npos);
}

}  // namespace
}  // namespace millrace
