// SPDX-License-Identifier: Apache-2.0
// RollingHash: the bytes that are folded are written out by hand and hashed by the library itself.
#include "connectors/s3/rolling_hash.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <xxhash.h>

#include <string>
#include <tuple>
#include <vector>

namespace millrace::s3_source {
namespace {

TEST(RollingHash, StartsAtZero) { EXPECT_EQ(RollingHash().value(), 0U); }

TEST(RollingHash, FoldsLengthPrefixedFieldsWithTheFormerHashAsSeed) {
  RollingHash hash;
  hash.fold("a/b", "\"e\"", 258);
  const std::string first("\3\0\0\0a/b\3\0\0\0\"e\"\2\1\0\0\0\0\0\0", 22);
  const std::uint64_t expected = XXH3_64bits_withSeed(first.data(), first.size(), 0);
  EXPECT_EQ(hash.value(), expected);
  hash.fold("", "", 0);
  const std::string second(16, '\0');
  EXPECT_EQ(hash.value(), XXH3_64bits_withSeed(second.data(), second.size(), expected));
}

TEST(RollingHash, FieldsCannotFlowIntoEachOther) {
  RollingHash a;
  RollingHash b;
  a.fold("ab", "c", 1);
  b.fold("a", "bc", 1);
  EXPECT_NE(a.value(), b.value());
}

TEST(RollingHash, PrintsSixteenDigits) { EXPECT_EQ(to_hex(0x1aU), "000000000000001a"); }

using Object = std::tuple<std::string, std::string, std::uint64_t>;
std::uint64_t hash_of(const std::vector<Object>& objects) {
  RollingHash hash;
  for (const auto& [key, etag, size] : objects) hash.fold(key, etag, size);
  return hash.value();
}

RC_GTEST_PROP(RollingHash, DifferentListsHashDifferently, (std::vector<Object> a, std::vector<Object> b)) {
  RC_ASSERT((hash_of(a) == hash_of(b)) == (a == b));
}

RC_GTEST_PROP(RollingHash, SeesAnyOverwriteBelow, (std::vector<Object> objects)) {
  RC_PRE(!objects.empty());
  auto changed = objects;
  const auto at = *rc::gen::inRange<std::size_t>(0, objects.size());
  std::get<1>(changed[at]) += "x";
  RC_ASSERT(hash_of(changed) != hash_of(objects));
}

}  // namespace
}  // namespace millrace::s3_source
