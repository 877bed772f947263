// SPDX-License-Identifier: Apache-2.0
// Goal: the suite notices a store that is wrong. Method: for each way in which stores are known to be wrong, one such
// store, and the case that must fail on it.
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "millrace/testing/memory_store.h"
#include "testing/store/store_case.h"

namespace millrace::testing {
namespace {

enum class Wrong {
  none,
  drops_pin,
  loses_last_of_page,
  folder_prefix,
  collapses_slashes,
  decodes_keys,
  cancels_never,
  short_read,
  start_after_inclusive,
  aborts_nothing,
  loses_last_part
};

/// A memory store with one fault that no script brings.
class WrongStore final : public ObjectStore {
 public:
  explicit WrongStore(Wrong wrong) : wrong_(wrong) {}

  std::string describe() const override { return inner_.describe(); }
  Result<ListPage> list(const ListRequest& request) override {
    ListRequest asked = request;
    if (wrong_ == Wrong::folder_prefix && !asked.prefix.empty() && asked.prefix.back() != '/') asked.prefix += '/';
    if (wrong_ == Wrong::start_after_inclusive && !asked.start_after.empty()) asked.start_after.back() -= 1;
    auto page = inner_.list(asked);
    if (page && wrong_ == Wrong::loses_last_of_page && !page->continuation.empty()) page->objects.pop_back();
    return page;
  }
  std::shared_ptr<ReadHandle> start_read(ReadRequest request) override {
    request.key = name(request.key);
    if (wrong_ == Wrong::drops_pin) request.if_match = {};
    if (wrong_ == Wrong::short_read && request.destination.size() > 1) {
      request.destination = request.destination.first(request.destination.size() - 1);
    }
    return inner_.start_read(std::move(request));
  }
  Result<WholeObject> get(std::string_view key, std::size_t limit, std::optional<Duration> timeout) override {
    return inner_.get(name(key), limit, timeout);
  }
  Result<PutResult> put(const PutRequest& request) override {
    PutRequest asked = request;
    asked.key = name(request.key);
    return inner_.put(asked);
  }
  Result<HeadResult> head(std::string_view key) override { return inner_.head(name(key)); }
  Result<void> remove(std::string_view key) override { return inner_.remove(name(key)); }
  Result<UploadId> begin_upload(const UploadRequest& request) override { return inner_.begin_upload(request); }
  Result<PartResult> put_part(const UploadId& upload, int number, std::string_view body,
                              std::optional<Duration> timeout) override {
    return inner_.put_part(upload, number, body, timeout);
  }
  Result<PutResult> complete_upload(const UploadId& upload, std::span<const PartResult> parts, PutCondition condition,
                                    std::optional<Duration> timeout) override {
    if (wrong_ == Wrong::loses_last_part && parts.size() > 1) parts = parts.first(parts.size() - 1);
    return inner_.complete_upload(upload, parts, condition, timeout);
  }
  Result<void> abort_upload(const UploadId& upload) override {
    if (wrong_ == Wrong::aborts_nothing) return {};
    return inner_.abort_upload(upload);
  }
  Result<UploadPage> list_uploads(const ListUploadsRequest& request) override { return inner_.list_uploads(request); }
  void cancel_all() override {
    if (wrong_ != Wrong::cancels_never) inner_.cancel_all();
  }

 private:
  std::string name(std::string_view key) const {
    std::string out(key);
    if (wrong_ == Wrong::collapses_slashes) {
      for (std::size_t at; (at = out.find("//")) != std::string::npos;) out.erase(at, 1);
    }
    if (wrong_ == Wrong::decodes_keys) {
      for (std::size_t at; (at = out.find("%20")) != std::string::npos;) out.replace(at, 3, " ");
    }
    return out;
  }
  const Wrong wrong_;
  MemoryStore inner_{MemoryStore::Options{.max_page = 5}};
};

/// Failures of one case on one store.
int failures(std::string_view case_name, std::shared_ptr<ObjectStore> store) {
  for (const auto cases : {list_cases(), key_cases(), read_cases(), write_cases(), upload_cases()}) {
    const auto named = std::ranges::find(cases, case_name, [](const NamedCase& c) { return std::string_view(c.name); });
    if (named == cases.end()) continue;
    ::testing::TestPartResultArray results;
    {
      const ::testing::ScopedFakeTestPartResultReporter reporter(
          ::testing::ScopedFakeTestPartResultReporter::INTERCEPT_ALL_THREADS, &results);
      StoreCase test({std::move(store), "in/"}, {.page = 10});
      named->body(test);
    }
    int failed = 0;
    for (int i = 0; i < results.size(); ++i) failed += results.GetTestPartResult(i).failed() ? 1 : 0;
    return failed;
  }
  ADD_FAILURE() << "no case is called " << case_name;
  return 0;
}

TEST(StoreSuite, NoticesEachKindOfWrongStore) {
  const std::pair<Wrong, const char*> expected[] = {
      {Wrong::drops_pin, "F01_AnotherObjectFailsThePin"},
      {Wrong::loses_last_of_page, "E04_OneMoreThanAPage"},
      {Wrong::loses_last_of_page, "E04_EveryPageIsRead"},
      {Wrong::folder_prefix, "A14_APrefixIsAString"},
      {Wrong::collapses_slashes, "A05_EmptySegmentsAreKept"},
      {Wrong::decodes_keys, "A01_EncodedAndPlainSpellingsAreTwoKeys"},
      {Wrong::cancels_never, "CancelAllEndsEverything"},
      {Wrong::short_read, "Ranges"},
      {Wrong::start_after_inclusive, "StartAfterIsExclusive"},
      {Wrong::aborts_nothing, "J06_AnAbortedUploadIsGone"},
      {Wrong::loses_last_part, "PartsAreJoinedByNumber"},
  };
  for (const auto& [wrong, name] : expected) {
    EXPECT_GT(failures(name, std::make_shared<WrongStore>(wrong)), 0) << name;
    EXPECT_EQ(failures(name, std::make_shared<WrongStore>(Wrong::none)), 0) << name;
  }
}

// B07: a store that takes conditions and ignores them.
TEST(StoreSuite, B07_NoticesIgnoredConditions) {
  for (const char* name :
       {"CreateOnly", "ReplaceExactly", "F12_OneCreatorWins", "CompletionCreatesOnly", "F12_OneUploadCreates"}) {
    EXPECT_GT(failures(name, std::make_shared<MemoryStore>(MemoryStore::Options{.honours_conditions = false})), 0)
        << name;
  }
}

}  // namespace
}  // namespace millrace::testing
