// SPDX-License-Identifier: Apache-2.0
// Objects in parts: nothing is there before the completion, and then exactly the parts that it names.
#include <gmock/gmock.h>

#include "millrace/base/sync.h"
#include "testing/store/store_case.h"

namespace millrace::testing {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::Pair;

/// Bytes that a part other than the last may have.
std::string body(const StoreCase& t, std::uint64_t seed, std::size_t more = 0) {
  return patterned(t.predicates().least_part + more, seed);
}

UploadId begin(StoreCase& t, std::string_view below, ChecksumKind checksum = ChecksumKind::none) {
  auto upload = t.store().begin_upload({.key = t.key(below), .checksum = checksum});
  if (upload) return *std::move(upload);
  ADD_FAILURE() << "begin " << below << ": " << upload.error().describe();
  return {};
}

PartResult put(StoreCase& t, const UploadId& upload, int number, std::string_view bytes) {
  auto part = t.store().put_part(upload, number, bytes);
  if (part) return *std::move(part);
  ADD_FAILURE() << "part " << number << ": " << part.error().describe();
  return {};
}

std::vector<UploadId> open_uploads(StoreCase& t) {
  std::vector<UploadId> open;
  ListUploadsRequest request{.prefix = t.prefix()};
  do {
    auto page = t.store().list_uploads(request);
    if (!page) {
      ADD_FAILURE() << page.error().describe();
      return open;
    }
    for (const UploadInfo& info : page->uploads) open.push_back(info.upload);
    request.continuation = page->continuation;
  } while (!request.continuation.empty());
  return open;
}

void parts_are_joined_by_number(StoreCase& t) {
  const UploadId upload = begin(t, "a");
  EXPECT_EQ(upload.key, t.key("a"));
  const std::string first = body(t, 1);
  const std::string second = body(t, 2, 7);
  const PartResult three = put(t, upload, 3, "the end");
  const PartResult one = put(t, upload, 1, first);
  const PartResult two = put(t, upload, 2, second);
  EXPECT_EQ(one.number, 1);
  EXPECT_EQ(one.size, first.size());
  EXPECT_EQ(t.get("a"), "<not_found>") << "no object before the completion";
  EXPECT_TRUE(t.list().objects.empty());
  const PartResult parts[] = {one, two, three};
  const auto done = t.store().complete_upload(upload, parts);
  ASSERT_TRUE(done) << done.error().describe();
  EXPECT_TRUE(t.get("a") == first + second + "the end");
  const auto head = t.store().head(t.key("a"));
  ASSERT_TRUE(head);
  EXPECT_EQ(head->info.etag, done->etag);
  EXPECT_EQ(t.list().sorted_keys(), std::vector<std::string>{"a"});
}

void one_part_and_no_bytes(StoreCase& t) {
  for (const std::string_view bytes : {"x", ""}) {
    const UploadId upload = begin(t, "a");
    const PartResult parts[] = {put(t, upload, 1, bytes)};
    const auto done = t.store().complete_upload(upload, parts);
    ASSERT_TRUE(done) << done.error().describe();
    EXPECT_EQ(t.get("a"), bytes);
  }
}

void a_replaced_part_is_the_later_one(StoreCase& t) {
  const UploadId upload = begin(t, "a");
  const std::string first = body(t, 1);
  const PartResult old = put(t, upload, 1, body(t, 9));
  const PartResult one = put(t, upload, 1, first);
  const PartResult two = put(t, upload, 2, "end");
  if (t.predicates().replaced_parts_go) {
    const PartResult with_old[] = {old, two};
    const auto refused = t.store().complete_upload(upload, with_old);
    ASSERT_FALSE(refused) << "a part that is another now";
    EXPECT_EQ(refused.error().code(), ErrorCode::invalid_request) << refused.error().describe();
    EXPECT_TRUE(refused.error().is_fatal());
  }
  const PartResult parts[] = {one, two};
  const auto done = t.store().complete_upload(upload, parts);
  ASSERT_TRUE(done) << done.error().describe();
  EXPECT_TRUE(t.get("a") == first + "end");
}

void a_part_that_is_not_named_is_dropped(StoreCase& t) {
  const UploadId upload = begin(t, "a");
  const std::string first = body(t, 1);
  const PartResult one = put(t, upload, 1, first);
  put(t, upload, 2, body(t, 2));
  const PartResult three = put(t, upload, 3, "end");
  const PartResult parts[] = {one, three};
  ASSERT_TRUE(t.store().complete_upload(upload, parts));
  EXPECT_TRUE(t.get("a") == first + "end");
}

void a_missing_part_fails_the_completion(StoreCase& t) {
  const UploadId upload = begin(t, "a");
  const PartResult one = put(t, upload, 1, body(t, 1));
  PartResult two = one;
  two.number = 2;
  const PartResult missing[] = {one, two};
  const auto refused = t.store().complete_upload(upload, missing);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::invalid_request) << refused.error().describe();
  EXPECT_TRUE(refused.error().is_fatal());
  EXPECT_FALSE(t.store().complete_upload(upload, {})) << "of no parts";
  EXPECT_EQ(t.get("a"), "<not_found>");
  EXPECT_TRUE(t.store().abort_upload(upload));
}

void parts_out_of_order_are_refused(StoreCase& t) {
  const UploadId upload = begin(t, "a");
  const PartResult one = put(t, upload, 1, body(t, 1));
  const PartResult two = put(t, upload, 2, body(t, 2));
  const PartResult parts[] = {two, one};
  const auto refused = t.store().complete_upload(upload, parts);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::invalid_request) << refused.error().describe();
  EXPECT_EQ(t.get("a"), "<not_found>");
  EXPECT_TRUE(t.store().abort_upload(upload));
}

void numbers_outside_the_limits_are_refused(StoreCase& t) {
  const UploadId upload = begin(t, "a");
  for (const int number : {0, -1, 10'001}) {
    const auto part = t.store().put_part(upload, number, "x");
    ASSERT_FALSE(part) << number;
    EXPECT_EQ(part.error().code(), ErrorCode::limit) << part.error().describe();
  }
  EXPECT_TRUE(t.store().abort_upload(upload));
  EXPECT_FALSE(t.store().begin_upload({.key = ""}));
}

void an_aborted_upload_is_gone(StoreCase& t) {
  const UploadId upload = begin(t, "a");
  const PartResult parts[] = {put(t, upload, 1, "x")};
  ASSERT_TRUE(t.store().abort_upload(upload));
  EXPECT_TRUE(t.store().abort_upload(upload)) << "aborting is idempotent";
  const auto done = t.store().complete_upload(upload, parts);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code(), ErrorCode::not_found) << done.error().describe();
  EXPECT_TRUE(done.error().is_fatal());
  const auto part = t.store().put_part(upload, 2, "x");
  ASSERT_FALSE(part);
  EXPECT_EQ(part.error().code(), ErrorCode::not_found) << part.error().describe();
  EXPECT_EQ(t.get("a"), "<not_found>");
  EXPECT_TRUE(t.list().objects.empty());
}

void a_completed_upload_is_over(StoreCase& t) {
  const UploadId upload = begin(t, "a");
  const PartResult parts[] = {put(t, upload, 1, "x")};
  ASSERT_TRUE(t.store().complete_upload(upload, parts));
  // S3 itself may say that it has been done; no store makes it undone.
  const auto again = t.store().complete_upload(upload, parts);
  if (!again) {
    EXPECT_EQ(again.error().code(), ErrorCode::not_found) << again.error().describe();
  }
  EXPECT_TRUE(t.store().abort_upload(upload));
  EXPECT_EQ(t.get("a"), "x");
  EXPECT_TRUE(open_uploads(t).empty());
}

void completion_creates_only(StoreCase& t) {
  t.put("a", "there");
  const UploadId upload = begin(t, "a");
  const PartResult parts[] = {put(t, upload, 1, "x")};
  const auto refused = t.store().complete_upload(upload, parts, PutCondition::if_absent);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::precondition_failed) << refused.error().describe();
  EXPECT_EQ(t.get("a"), "there");
  ASSERT_TRUE(t.store().remove(t.key("a")));
  const auto done = t.store().complete_upload(upload, parts, PutCondition::if_absent);
  ASSERT_TRUE(done) << "the refusal left the upload: " << done.error().describe();
  EXPECT_EQ(t.get("a"), "x");
}

// F12: of two uploads to one key that may only create it, one wins.
void f12_one_upload_creates(StoreCase& t) {
  const UploadId uploads[] = {begin(t, "a"), begin(t, "a")};
  EXPECT_NE(uploads[0].id, uploads[1].id);
  const PartResult parts[] = {put(t, uploads[0], 1, "0"), put(t, uploads[1], 1, "1")};
  Atomic<int> winner{-1};
  Atomic<int> wins{0};
  std::vector<Thread> threads;
  for (std::size_t i = 0; i < 2; ++i) {
    threads.emplace_back("completer", [&, i] {
      const auto done = t.store().complete_upload(uploads[i], {&parts[i], 1}, PutCondition::if_absent);
      if (done) {
        ++wins;
        winner = static_cast<int>(i);
      } else {
        EXPECT_THAT(done.error().code(), AnyOf(ErrorCode::precondition_failed, ErrorCode::unavailable))
            << done.error().describe();
        EXPECT_TRUE(t.store().abort_upload(uploads[i]));
      }
    });
  }
  threads.clear();
  EXPECT_EQ(wins.load(), 1);
  EXPECT_EQ(t.get("a"), std::to_string(winner.load()));
}

void two_uploads_to_one_key_stay_apart(StoreCase& t) {
  const UploadId first = begin(t, "a");
  const UploadId second = begin(t, "a");
  const PartResult of_first[] = {put(t, first, 1, "first")};
  const PartResult of_second[] = {put(t, second, 1, "second")};
  ASSERT_TRUE(t.store().complete_upload(second, of_second));
  EXPECT_EQ(t.get("a"), "second");
  ASSERT_TRUE(t.store().complete_upload(first, of_first));
  EXPECT_EQ(t.get("a"), "first");
}

void an_upload_replaces_an_object(StoreCase& t) {
  const ETag before = t.put("a", "before");
  const UploadId upload = begin(t, "a");
  const PartResult parts[] = {put(t, upload, 1, "after")};
  EXPECT_EQ(t.get("a"), "before");
  const auto done = t.store().complete_upload(upload, parts);
  ASSERT_TRUE(done) << done.error().describe();
  EXPECT_EQ(t.get("a"), "after");
  EXPECT_NE(t.store().head(t.key("a"))->info.etag, before);
}

void what_an_upload_is_begun_with_is_the_objects(StoreCase& t) {
  const auto upload = t.store().begin_upload({.key = t.key("a"),
                                              .content_type = "application/x-ndjson",
                                              .content_encoding = "gzip",
                                              .metadata = {{"millrace-xxh3", "0123456789abcdef"}}});
  ASSERT_TRUE(upload) << upload.error().describe();
  const PartResult parts[] = {put(t, *upload, 1, "x")};
  ASSERT_TRUE(t.store().complete_upload(*upload, parts));
  const auto head = t.store().head(t.key("a"));
  ASSERT_TRUE(head);
  EXPECT_THAT(head->metadata, Contains(Pair("millrace-xxh3", "0123456789abcdef")));
  EXPECT_EQ(head->content_encoding, "gzip");
  EXPECT_EQ(head->content_type, "application/x-ndjson");
}

void parts_carry_checksums(StoreCase& t) {
  const std::string first = body(t, 1);
  for (const auto kind : {ChecksumKind::crc32, ChecksumKind::crc32c, ChecksumKind::crc64nvme, ChecksumKind::sha256}) {
    const auto whole = t.store().put({.key = t.key("whole"), .body = first, .checksum = kind});
    ASSERT_TRUE(whole) << whole.error().describe();
    const UploadId upload = begin(t, "a", kind);
    EXPECT_EQ(upload.checksum, kind);
    const PartResult parts[] = {put(t, upload, 1, first), put(t, upload, 2, "end")};
    EXPECT_EQ(parts[0].checksum, whole->checksum) << "of the same bytes";
    const auto done = t.store().complete_upload(upload, parts);
    ASSERT_TRUE(done) << to_string(kind) << ": " << done.error().describe();
    EXPECT_TRUE(t.get("a") == first + "end");
  }
}

void what_is_open_is_listed(StoreCase& t) {
  EXPECT_TRUE(open_uploads(t).empty());
  const UploadId first = begin(t, "in/a b");
  const UploadId second = begin(t, "in/a b");
  const UploadId other = begin(t, "out");
  std::vector<std::string> expected = {first.id, second.id, other.id};
  std::vector<std::string> listed;
  for (const UploadId& upload : open_uploads(t)) {
    listed.push_back(upload.id);
    EXPECT_EQ(upload.key, t.key(upload.id == other.id ? "out" : "in/a b"));
  }
  std::ranges::sort(expected);
  std::ranges::sort(listed);
  EXPECT_EQ(listed, expected);
  const auto below = t.store().list_uploads({.prefix = t.key("in/a")});
  ASSERT_TRUE(below);
  EXPECT_EQ(below->uploads.size(), 2U);
  const auto page = t.store().list_uploads({.prefix = t.prefix(), .max_uploads = 2});
  ASSERT_TRUE(page);
  EXPECT_LE(page->uploads.size(), 2U);
  EXPECT_FALSE(page->continuation.empty());
  for (const UploadId& upload : open_uploads(t)) EXPECT_TRUE(t.store().abort_upload(upload));
  EXPECT_TRUE(open_uploads(t).empty());
}

void parts_side_by_side(StoreCase& t) {
  constexpr int kParts = 6;
  const UploadId upload = begin(t, "a");
  std::vector<PartResult> parts(kParts);
  std::string all;
  for (int i = 0; i < kParts; ++i) all += body(t, static_cast<std::uint64_t>(i));
  std::vector<Thread> threads;
  for (int i = 0; i < kParts; ++i) {
    threads.emplace_back("putter", [&, i] {
      parts[static_cast<std::size_t>(i)] = put(t, upload, i + 1, body(t, static_cast<std::uint64_t>(i)));
    });
  }
  threads.clear();
  const auto done = t.store().complete_upload(upload, parts);
  ASSERT_TRUE(done) << done.error().describe();
  EXPECT_TRUE(t.get("a") == all);
}

void cancelling_ends_uploads(StoreCase& t) {
  const UploadId upload = begin(t, "a");
  const PartResult parts[] = {put(t, upload, 1, "x")};
  t.store().cancel_all();
  EXPECT_EQ(t.store().begin_upload({.key = t.key("b")}).error().code(), ErrorCode::cancelled);
  EXPECT_EQ(t.store().put_part(upload, 2, "x").error().code(), ErrorCode::cancelled);
  EXPECT_EQ(t.store().complete_upload(upload, parts).error().code(), ErrorCode::cancelled);
  EXPECT_EQ(t.store().abort_upload(upload).error().code(), ErrorCode::cancelled);
  EXPECT_EQ(t.store().list_uploads({}).error().code(), ErrorCode::cancelled);
}

bool uploads(const StorePredicates& p) { return p.uploads; }
bool conditions(const StorePredicates& p) { return p.uploads && p.conditional_writes; }

constexpr NamedCase kCases[] = {
    {"PartsAreJoinedByNumber", parts_are_joined_by_number, uploads},
    {"OnePartAndNoBytes", one_part_and_no_bytes, uploads},
    {"AReplacedPartIsTheLaterOne", a_replaced_part_is_the_later_one, uploads},
    {"APartThatIsNotNamedIsDropped", a_part_that_is_not_named_is_dropped, uploads},
    {"AMissingPartFailsTheCompletion", a_missing_part_fails_the_completion, uploads},
    {"PartsOutOfOrderAreRefused", parts_out_of_order_are_refused, uploads},
    {"PartNumbersOutsideTheLimitsAreRefused", numbers_outside_the_limits_are_refused, uploads},
    {"J06_AnAbortedUploadIsGone", an_aborted_upload_is_gone, uploads},
    {"J06_ACompletedUploadIsOver", a_completed_upload_is_over, uploads},
    {"CompletionCreatesOnly", completion_creates_only, conditions},
    {"F12_OneUploadCreates", f12_one_upload_creates, conditions},
    {"TwoUploadsToOneKeyStayApart", two_uploads_to_one_key_stay_apart, uploads},
    {"AnUploadReplacesAnObject", an_upload_replaces_an_object,
     [](const StorePredicates& p) { return p.uploads && p.strong_etags; }},
    {"WhatAnUploadIsBegunWithIsTheObjects", what_an_upload_is_begun_with_is_the_objects,
     [](const StorePredicates& p) { return p.uploads && p.keeps_metadata; }},
    {"PartsCarryChecksums", parts_carry_checksums, uploads},
    {"WhatIsOpenIsListed", what_is_open_is_listed, uploads},
    {"PartsSideBySide", parts_side_by_side, uploads},
    {"CancellingEndsUploads", cancelling_ends_uploads, uploads},
};

}  // namespace

std::span<const NamedCase> upload_cases() { return kCases; }

}  // namespace millrace::testing
