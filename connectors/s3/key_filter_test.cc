// SPDX-License-Identifier: Apache-2.0
// KeyFilter: a table worked out by hand, and a property against fnmatch(3) on the part both define alike.
#include "connectors/s3/key_filter.h"

#include <fnmatch.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace millrace::s3_source {
namespace {

bool matches(std::string_view pattern, std::string_view text) {
  const auto glob = Glob::parse(pattern);
  return glob && glob->matches(text);
}

TEST(Glob, TableOfCases) {
  EXPECT_TRUE(matches("*.ndjson", "a.ndjson"));
  EXPECT_FALSE(matches("*.ndjson", "sub/a.ndjson"));
  EXPECT_TRUE(matches("**.ndjson", "sub/a.ndjson"));
  EXPECT_TRUE(matches("**/*.ndjson", "a.ndjson"));
  EXPECT_TRUE(matches("**/*.ndjson", "x/y/a.ndjson"));
  EXPECT_TRUE(matches("a/**/b", "a/b"));
  EXPECT_TRUE(matches("a/**/b", "a/x/y/b"));
  EXPECT_FALSE(matches("a/**/b", "a/xb"));
  EXPECT_FALSE(matches("a/**/b", "ab"));
  EXPECT_TRUE(matches("a/**/**/b", "a/b"));
  EXPECT_TRUE(matches("a/**", "a/"));
  EXPECT_FALSE(matches("a/**", "a"));
  EXPECT_TRUE(matches("part-????", "part-0001"));
  EXPECT_FALSE(matches("part-????", "part-00/1"));
  EXPECT_TRUE(matches("[a-c]x", "bx"));
  EXPECT_FALSE(matches("[!a-c]x", "bx"));
  EXPECT_TRUE(matches("[]]", "]"));
  EXPECT_TRUE(matches("[-a]", "-"));
  EXPECT_TRUE(matches("\\*", "*"));
  EXPECT_FALSE(matches("\\*", "a"));
  EXPECT_TRUE(matches("", ""));
  EXPECT_FALSE(matches("", "a"));
  EXPECT_TRUE(matches("{x}", "{x}"));
}

// A question mark is one character to whoever types it, whatever it takes to store it.
TEST(Glob, CharactersAreThoseOfUtf8) {
  EXPECT_TRUE(matches("?.ndjson", "\xC3\xA9.ndjson"));
  EXPECT_TRUE(matches("?", "\xF0\x9F\x98\x80"));
  EXPECT_FALSE(matches("??", "\xC3\xA9"));
  EXPECT_TRUE(matches("[\xC3\xA8-\xC3\xAA]", "\xC3\xA9"));
  EXPECT_FALSE(matches("[\xC3\xA9]", "\xC3"));
  EXPECT_TRUE(matches("[!a]", "\xC3\xA9"));
  EXPECT_TRUE(matches("\xC3\xA9*", "\xC3\xA9\xC3\xA9"));
  // Bytes that are no UTF-8 are characters of their own.
  EXPECT_TRUE(matches("a?b",
                      "a\xFF"
                      "b"));
  EXPECT_TRUE(matches("??", "\xC3("));
  EXPECT_TRUE(matches("\xC3(", "\xC3("));
  EXPECT_FALSE(matches("\xC3", "\xC3\xA9"));
  // So are those of what only looks like UTF-8: a slash in three bytes, half a surrogate pair, beyond U+10FFFF.
  EXPECT_FALSE(matches("a/b",
                       "a\xE0\x80\xAF"
                       "b"));
  EXPECT_TRUE(matches("???", "\xE0\x80\xAF"));
  EXPECT_TRUE(matches("???", "\xED\xA0\x80"));
  EXPECT_TRUE(matches("????", "\xF4\x90\x80\x80"));
}

TEST(Glob, A05_EmptySegmentsAreNotCollapsed) {
  EXPECT_TRUE(matches("/b", "/b"));
  EXPECT_FALSE(matches("b", "/b"));
  EXPECT_TRUE(matches("**/b", "//b"));
  EXPECT_TRUE(matches("*//b", "a//b"));
  EXPECT_FALSE(matches("*/b", "a//b"));
}

TEST(Glob, MalformedPatternsAreNamed) {
  for (const char* pattern : {"[abc", "[", "[!", "a\\", "[z-a]"}) {
    const auto glob = Glob::parse(pattern);
    ASSERT_FALSE(glob) << pattern;
    EXPECT_EQ(glob.error().code(), ErrorCode::config);
    EXPECT_NE(glob.error().message().find(pattern[0]), std::string::npos);
  }
}

TEST(Glob, ManyStarsCostNoMoreThanPatternTimesText) {
  std::string pattern;
  for (int i = 0; i < 60; ++i) pattern += "*a";
  EXPECT_FALSE(matches(pattern + "b", std::string(2000, 'a')));
}

RC_GTEST_PROP(Glob, AgreesWithFnmatch, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::element('a', 'b', '/', '.'));
  std::string pattern = *rc::gen::container<std::string>(rc::gen::element('a', 'b', '/', '.', '*', '?'));
  RC_PRE(pattern.find("**") == std::string::npos);
  RC_ASSERT(matches(pattern, text) == (::fnmatch(pattern.c_str(), text.c_str(), FNM_PATHNAME) == 0));
}

TEST(KeyFilter, IncludeThenExclude) {
  const auto all = KeyFilter::make({}, {});
  EXPECT_TRUE(all->accepts("anything"));
  const auto some = KeyFilter::make({"**/*.gz", "a*"}, {"**/tmp-*"});
  EXPECT_TRUE(some->accepts("x/y.gz"));
  EXPECT_TRUE(some->accepts("abc"));
  EXPECT_FALSE(some->accepts("x/tmp-1.gz"));
  EXPECT_FALSE(some->accepts("b"));
  EXPECT_FALSE(KeyFilter::make({}, {"["}));
}

}  // namespace
}  // namespace millrace::s3_source
