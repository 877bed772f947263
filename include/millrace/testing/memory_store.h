// SPDX-License-Identifier: Apache-2.0
// MemoryStore: an ObjectStore in memory, as exact as S3 and as odd as a test wants it. Keeps a log of its requests, so
// that tests assert them by shape and number. Thread-safe; the test owns it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/base/sync.h"
#include "millrace/base/time.h"
#include "millrace/store/object_store.h"

namespace millrace::testing {

enum class StoreOp { list, read, get, put, head, remove };
[[nodiscard]] std::string_view to_string(StoreOp) noexcept;

/// One call as it came in.
struct StoreRequest {
  StoreOp op = StoreOp::list;
  std::string key;                              ///< list: the prefix
  std::uint64_t offset = 0;                     ///< read
  std::uint64_t size = 0;                       ///< read: bytes asked for; put: bytes of the body
  PutCondition condition = PutCondition::none;  ///< put
  bool pinned = false;                          ///< read: with an if_match
};

class MemoryStore final : public ObjectStore {
 public:
  enum class Tags { strong, weak, none };
  struct Options {
    Clock* clock = &Clock::real();
    std::size_t max_page = 1000;         ///< objects of one page at most, whatever is asked for
    Tags etags = Tags::strong;           ///< strong: the same bytes have the same ETag, as in S3
    bool honours_conditions = true;      ///< false: PutCondition is ignored, as some stores do (B07)
    std::string name = "memory://test";  ///< what describe() says
  };
  MemoryStore();
  explicit MemoryStore(Options options);

  /// What a test may say of an object beside its bytes.
  struct Traits {
    std::string storage_class;
    std::string content_encoding;
    UnixMicros last_modified = kNoTimestamp;  ///< default: now
    std::uint64_t listed_size = UINT64_MAX;   ///< a listing that lies; default: the truth
  };
  /// Puts an object without a request in the log.
  void set(std::string key, std::string bytes) { set(std::move(key), std::move(bytes), Traits()); }
  void set(std::string key, std::string bytes, Traits traits);
  void erase(std::string_view key);
  /// Bytes of every object by key; nothing is logged.
  [[nodiscard]] std::map<std::string, std::string> contents() const;
  [[nodiscard]] std::vector<StoreRequest> requests() const;
  [[nodiscard]] std::size_t count(StoreOp op) const;
  void clear_requests();

  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] Result<ListPage> list(const ListRequest& request) override;
  /// `done` is called before this returns.
  std::shared_ptr<ReadHandle> start_read(ReadRequest request) override;
  [[nodiscard]] Result<WholeObject> get(std::string_view key, std::size_t limit,
                                        std::optional<Duration> timeout = {}) override;
  [[nodiscard]] Result<PutResult> put(const PutRequest& request) override;
  [[nodiscard]] Result<HeadResult> head(std::string_view key) override;
  [[nodiscard]] Result<void> remove(std::string_view key) override;
  void cancel_all() override;

 private:
  struct Object {
    std::shared_ptr<const std::string> bytes;
    ETag etag;
    Traits traits;
    std::vector<std::pair<std::string, std::string>> metadata;
  };
  Result<Object> begin(StoreRequest request) MILLRACE_REQUIRES(mutex_);
  [[nodiscard]] Error cancelled() const;
  [[nodiscard]] Error not_found(std::string_view key) const;
  [[nodiscard]] ETag tag_of(std::string_view bytes) MILLRACE_REQUIRES(mutex_);
  ReadOutcome read(const ReadRequest& request);

  const Options options_;
  mutable Mutex mutex_;
  std::map<std::string, Object, std::less<>> objects_ MILLRACE_GUARDED_BY(mutex_);
  std::vector<StoreRequest> requests_ MILLRACE_GUARDED_BY(mutex_);
  bool cancelled_ MILLRACE_GUARDED_BY(mutex_) = false;
};

}  // namespace millrace::testing
