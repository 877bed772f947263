// SPDX-License-Identifier: Apache-2.0
// MemoryStore: an ObjectStore in memory, as exact as S3 and as odd as a test wants it. Keeps a log of its requests, so
// that tests assert them by shape and number. Thread-safe; the test owns it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/base/sync.h"
#include "millrace/base/time.h"
#include "millrace/store/object_store.h"
#include "millrace/store/part_plan.h"

#pragma GCC visibility push(default)
namespace millrace::testing {

enum class StoreOp {
  list,
  read,
  get,
  put,
  head,
  remove,
  begin_upload,
  put_part,
  complete_upload,
  abort_upload,
  list_uploads,
};
[[nodiscard]] std::string_view to_string(StoreOp) noexcept;

/// One call as it came in.
struct StoreRequest {
  StoreOp op = StoreOp::list;
  std::string key;                              ///< list, list_uploads: the prefix
  std::uint64_t offset = 0;                     ///< read
  std::uint64_t size = 0;                       ///< read: bytes asked for; put, put_part: bytes of the body
  PutCondition condition = PutCondition::none;  ///< put, complete_upload
  bool pinned = false;                          ///< read: with an if_match
  int part = 0;                                 ///< put_part: its number; complete_upload: how many
};

class MemoryStore final : public ObjectStore {
 public:
  enum class Tags { strong, weak, none };
  struct Options {
    Clock* clock = &Clock::real();
    std::size_t max_page = 1000;         ///< objects of one page at most, whatever is asked for
    Tags etags = Tags::strong;           ///< strong: the same bytes have the same ETag, as in S3
    bool honours_conditions = true;      ///< false: PutCondition is ignored, as some stores do (B07)
    bool honours_if_match = true;        ///< false: that one alone is ignored
    std::string name = "memory://test";  ///< what describe() says
    std::uint64_t least_part_bytes = 0;  ///< of every part but the last; S3's own rule is kLeastPartBytes
    int most_parts = kMostParts;
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
  /// What the write of an object asked for beside its bytes.
  struct Asked {
    std::string content_type{};
    std::string content_encoding{};
    std::vector<std::pair<std::string, std::string>> metadata{};
    ObjectSettings settings{};
    ChecksumKind checksum = ChecksumKind::none;
  };
  /// Nothing when there is no such object; nothing is logged.
  [[nodiscard]] std::optional<Asked> asked(std::string_view key) const;
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
  [[nodiscard]] Result<UploadId> begin_upload(const UploadRequest& request) override;
  [[nodiscard]] Result<PartResult> put_part(const UploadId& upload, int number, std::string_view body,
                                            std::optional<Duration> timeout = {}) override;
  [[nodiscard]] Result<PutResult> complete_upload(const UploadId& upload, std::span<const PartResult> parts,
                                                  PutCondition condition = PutCondition::none,
                                                  std::optional<Duration> timeout = {}) override;
  [[nodiscard]] Result<void> abort_upload(const UploadId& upload) override;
  [[nodiscard]] Result<UploadPage> list_uploads(const ListUploadsRequest& request) override;
  void cancel_all() override;

  /// Uploads that were begun and have not ended; nothing is logged.
  [[nodiscard]] std::vector<UploadId> open_uploads() const;
  /// Ends every upload, as a lifecycle rule of a bucket does. How many there were.
  std::size_t end_uploads();

 private:
  struct Object {
    std::shared_ptr<const std::string> bytes;
    ETag etag;
    Traits traits;
    Asked asked;
  };
  struct Part {
    std::string bytes;
    ETag etag;
    std::string checksum;
  };
  struct Upload {
    std::string key;
    Asked asked;
    UnixMicros begun = kNoTimestamp;
    std::map<int, Part> parts;
  };
  using Uploads = std::map<std::string, Upload, std::less<>>;
  /// Logs the request and finds its upload.
  Result<Uploads::iterator> find_upload(const UploadId& upload, StoreRequest request) MILLRACE_REQUIRES(mutex_);
  /// For messages: the store and the key, up to the colon behind them.
  [[nodiscard]] std::string name_of(std::string_view key) const;
  [[nodiscard]] Result<std::string> join(const Upload& upload, std::span<const PartResult> parts) const;
  /// precondition_failed unless the condition holds against what is there, if anything.
  [[nodiscard]] Result<void> check_condition(std::string_view key, PutCondition condition, const ETag& etag,
                                             const ETag* there) const;
  /// Makes or replaces the object; its tag.
  ETag store(const std::string& key, std::string bytes, Asked asked) MILLRACE_REQUIRES(mutex_);
  Result<Object> begin(StoreRequest request) MILLRACE_REQUIRES(mutex_);
  [[nodiscard]] Error cancelled() const;
  [[nodiscard]] Error not_found(std::string_view key) const;
  [[nodiscard]] ETag tag_of(std::string_view bytes) MILLRACE_REQUIRES(mutex_);
  ReadOutcome read(const ReadRequest& request);

  const Options options_;
  mutable Mutex mutex_;
  std::map<std::string, Object, std::less<>> objects_ MILLRACE_GUARDED_BY(mutex_);
  Uploads uploads_ MILLRACE_GUARDED_BY(mutex_);
  std::uint64_t begun_uploads_ MILLRACE_GUARDED_BY(mutex_) = 0;
  std::uint64_t parts_put_ MILLRACE_GUARDED_BY(mutex_) = 0;
  std::vector<StoreRequest> requests_ MILLRACE_GUARDED_BY(mutex_);
  bool cancelled_ MILLRACE_GUARDED_BY(mutex_) = false;
};

}  // namespace millrace::testing
#pragma GCC visibility pop
