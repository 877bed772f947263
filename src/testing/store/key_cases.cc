// SPDX-License-Identifier: Apache-2.0
// Keys: every byte comes back as it went in, through every call that takes or gives one.
#include <gmock/gmock.h>

#include "testing/store/store_case.h"

namespace millrace::testing {
namespace {

/// Each key with bytes of its own, so that a mix-up is seen: put all, list, head, read, get, remove.
void round_trip(StoreCase& t, std::vector<std::string> keys) {
  for (const std::string& key : keys) t.put(key, "bytes of " + key);
  std::ranges::sort(keys);
  EXPECT_EQ(t.list().sorted_keys(), keys);
  for (const std::string& key : keys) {
    const std::string body = "bytes of " + key;
    const auto head = t.store().head(t.key(key));
    EXPECT_TRUE(head) << key;
    if (head) {
      EXPECT_EQ(head->info.size, body.size()) << key;
    }
    const auto read = t.read(key, 0, body.size(), head ? head->info.etag : ETag());
    EXPECT_TRUE(read.ok()) << key << ": " << (read.ok() ? "" : read.outcome.info.error().describe());
    EXPECT_EQ(read.bytes, body) << key;
    EXPECT_EQ(t.get(key), body) << key;
  }
  for (const std::string& key : keys) EXPECT_TRUE(t.store().remove(t.key(key))) << key;
  EXPECT_TRUE(t.list().objects.empty());
}

void a01_encoded_and_plain_spellings_are_two_keys(StoreCase& t) {
  round_trip(t, {"a b.ndjson", "a%20b.ndjson", "a+b.ndjson", "a%2Bb.ndjson", "x%3Ay.ndjson", "x:y.ndjson"});
}

void a03_reserved_characters(StoreCase& t) {
  round_trip(t, {"dt=2026-01-01T00:00:00+02:00/p.ndjson", "[x]{y}.ndjson", "100%.ndjson", "a&b;c,d.ndjson",
                 "q?v#f.ndjson", "a'b\"c", "a<b>c", "a|b^c`d", "~user", "a@b", "$x", "a*b", "(c)", "!", "a=b"});
}

void a08_spaces(StoreCase& t) { round_trip(t, {"with space.ndjson", "trailing ", " leading", "two  spaces"}); }

void a08_control_characters(StoreCase& t) { round_trip(t, {"a\tb.ndjson", "tab\t"}); }

void a11_unicode_is_not_normalised(StoreCase& t) {
  round_trip(t, {"\xC3\xA9.ndjson", "e\xCC\x81.ndjson", "\xF0\x9F\x8C\x8A/\xE6\x97\xA5\xE6\x9C\xAC.ndjson"});
}

void backslashes(StoreCase& t) { round_trip(t, {"a\\b", "a/b"}); }

void a05_empty_segments_are_kept(StoreCase& t) {
  round_trip(t, {"a.ndjson", "/b.ndjson", "//c.ndjson", "c.ndjson", "d//e", "d/e"});
}

void a15_directory_markers_are_objects(StoreCase& t) {
  t.put("sub/", "");
  t.put("sub/a", "x");
  t.put("real/", "body");
  EXPECT_THAT(t.list().sorted_keys(), ::testing::ElementsAre("real/", "sub/", "sub/a"));
  EXPECT_EQ(t.get("real/"), "body");
}

void a16_a_key_can_be_file_and_folder(StoreCase& t) { round_trip(t, {"a", "a/b.ndjson", "a/b.ndjson/c"}); }

void case_is_kept(StoreCase& t) { round_trip(t, {"Key", "key", "KEY"}); }

void long_keys(StoreCase& t) {
  // 1,024 bytes is S3's limit for a whole key; segments stay below what a file name may have.
  std::string key;
  while (key.size() + t.prefix().size() + 201 < 1024) key += std::string(200, 'k') + "/";
  round_trip(t, {key + "end"});
}

constexpr NamedCase kCases[] = {
    {"A01_EncodedAndPlainSpellingsAreTwoKeys", a01_encoded_and_plain_spellings_are_two_keys, always},
    {"A03_ReservedCharacters", a03_reserved_characters, always},
    {"A05_EmptySegmentsAreKept", a05_empty_segments_are_kept,
     [](const StorePredicates& p) { return p.empty_segments; }},
    {"A08_Spaces", a08_spaces, always},
    {"A08_ControlCharacters", a08_control_characters, [](const StorePredicates& p) { return p.control_characters; }},
    {"A11_UnicodeIsNotNormalised", a11_unicode_is_not_normalised, always},
    {"A15_DirectoryMarkersAreObjects", a15_directory_markers_are_objects,
     [](const StorePredicates& p) { return p.directory_markers; }},
    {"A16_AKeyCanBeFileAndFolder", a16_a_key_can_be_file_and_folder,
     [](const StorePredicates& p) { return p.file_and_folder; }},
    {"Backslashes", backslashes, [](const StorePredicates& p) { return p.backslashes; }},
    {"CaseIsKept", case_is_kept, always},
    {"LongKeys", long_keys, always},
};

}  // namespace

std::span<const NamedCase> key_cases() { return kCases; }

}  // namespace millrace::testing
