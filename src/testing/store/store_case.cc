// SPDX-License-Identifier: Apache-2.0
#include "testing/store/store_case.h"

#include <fmt/format.h>

#include <algorithm>

#include "millrace/base/sync.h"

namespace millrace::testing {

struct ReadsTogether::State {
  Mutex mutex;
  CondVar changed;
  std::vector<std::unique_ptr<StoreCase::Read>> reads MILLRACE_GUARDED_BY(mutex);
  std::size_t open MILLRACE_GUARDED_BY(mutex) = 0;
};

ReadsTogether::ReadsTogether(ObjectStore& store) : store_(store), state_(std::make_shared<State>()) {}

ReadsTogether::~ReadsTogether() { (void)wait(); }  // the destinations live in here

std::shared_ptr<ReadHandle> ReadsTogether::start(std::string key, std::uint64_t offset, std::size_t size, ETag if_match,
                                                 std::optional<std::uint64_t> expected_size) {
  auto owned = std::make_unique<StoreCase::Read>(
      StoreCase::Read{std::string(size, '\0'), {fail(Error::fatal(ErrorCode::internal, "not called"))}, 0});
  StoreCase::Read& read = *owned;
  {
    const MutexLock lock(state_->mutex);
    state_->reads.push_back(std::move(owned));
    ++state_->open;
  }
  ReadRequest request{.key = std::move(key),
                      .offset = offset,
                      .destination = read.bytes,
                      .if_match = std::move(if_match),
                      .expected_object_size = expected_size};
  request.done = [&read, state = state_](ReadOutcome outcome) {
    const MutexLock lock(state->mutex);
    read.outcome = std::move(outcome);
    if (++read.calls_of_done == 1) --state->open;
    state->changed.notify_all();
  };
  return store_.start_read(std::move(request));
}

std::vector<StoreCase::Read> ReadsTogether::wait() {
  const MutexLock lock(state_->mutex);
  while (state_->open != 0) state_->changed.wait(state_->mutex);
  std::vector<StoreCase::Read> ended;
  for (auto& read : state_->reads) ended.push_back(std::move(*read));
  state_->reads.clear();
  return ended;
}

ETag StoreCase::put(std::string_view below, std::string_view body) const {
  auto put = store().put({.key = key(below), .body = body});
  if (!put) {
    ADD_FAILURE() << "put " << key(below) << ": " << put.error().describe();
    return {};
  }
  return put->etag;
}

Result<PutResult> StoreCase::put_if_absent(std::string_view below, std::string_view body) const {
  return store().put({.key = key(below), .body = body, .condition = PutCondition::if_absent});
}

Result<PutResult> StoreCase::put_if_match(std::string_view below, std::string_view body, const ETag& etag) const {
  return store().put({.key = key(below), .body = body, .condition = PutCondition::if_match, .etag = etag});
}

std::string StoreCase::get(std::string_view below) const {
  const auto object = store().get(key(below), 64U << 20U);
  return object ? object->bytes : fmt::format("<{}>", to_string(object.error().code()));
}

StoreCase::Read StoreCase::read(std::string_view below, std::uint64_t offset, std::size_t size, ETag if_match,
                                std::optional<std::uint64_t> expected_size) const {
  ReadsTogether reads(store());
  reads.start(key(below), offset, size, std::move(if_match), expected_size);
  return std::move(reads.wait().front());
}

StoreCase::Listing StoreCase::list(std::string_view below, std::size_t max_keys, std::string_view start_after) const {
  Listing all;
  ListRequest request{.prefix = key(below), .max_keys = max_keys};
  if (!start_after.empty()) request.start_after = key(start_after);
  do {
    auto page = store().list(request);
    if (!page) {
      ADD_FAILURE() << "list " << request.prefix << ": " << page.error().describe();
      return all;
    }
    ++all.pages;
    EXPECT_LE(page->objects.size(), max_keys);
    for (ObjectInfo& object : page->objects) {
      EXPECT_TRUE(object.key.starts_with(request.prefix)) << object.key;
      object.key.erase(0, prefix().size());
      all.objects.push_back(std::move(object));
    }
    request.continuation = page->continuation;
    if (all.pages > 100'000) {
      ADD_FAILURE() << "the listing does not end";
      return all;
    }
  } while (!request.continuation.empty());
  return all;
}

std::vector<std::string> StoreCase::Listing::sorted_keys() const {
  std::vector<std::string> keys;
  for (const ObjectInfo& object : objects) keys.push_back(object.key);
  std::ranges::sort(keys);
  return keys;
}

std::string patterned(std::size_t size, std::uint64_t seed) {
  std::string bytes(size, '\0');
  std::uint64_t state = seed * 2862933555777941757U + 3037000493U;
  for (char& byte : bytes) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    byte = static_cast<char>(state >> 56U);
  }
  return bytes;
}

}  // namespace millrace::testing
