// SPDX-License-Identifier: Apache-2.0
// ObjectStore: objects as bytes behind one interface, with s3, file, memory, faulty and slow implementations under one
// conformance suite. A store does one try of each request: retrying belongs to the fetch loop, the sink loop and the
// manifest. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/base/time.h"
#include "millrace/store/etag.h"
#include "millrace/store/upload.h"
#include "millrace/store/write_options.h"

#pragma GCC visibility push(default)
namespace millrace {

struct ObjectInfo {
  std::string key;         ///< every byte as the store keeps it
  std::uint64_t size = 0;  ///< stored bytes
  ETag etag;
  UnixMicros last_modified = kNoTimestamp;
  std::string storage_class;  ///< empty when not told
};

struct ListRequest {
  std::string prefix{};         ///< a string, not a folder
  std::string start_after{};    ///< keys greater than this only; empty for all
  std::string continuation{};   ///< opaque token of the page before; empty for the first page
  std::size_t max_keys = 1000;  ///< the store may give fewer
};
struct ListPage {
  std::vector<ObjectInfo> objects;
  std::string continuation;  ///< empty on the last page
};

/// What a store tells about one successful read.
struct ReadInfo {
  std::uint64_t object_size = 0;  ///< of the whole object
  ETag etag;
  UnixMicros last_modified = kNoTimestamp;
  std::string content_encoding;  ///< as sent, tokens and all
};
/// How a read ended. On an error `received` bytes at the front of the destination are good all the same: the caller
/// goes on from there.
struct ReadOutcome {
  Result<ReadInfo> info;
  std::size_t received = 0;
};
/// One ranged read. `offset + destination.size()` must not exceed the object's size; a destination of zero bytes is
/// refused.
struct ReadRequest {
  std::string key{};
  std::uint64_t offset = 0;
  std::span<char> destination{};  ///< stays valid until `done` has been called
  ETag if_match{};  ///< the read fails with precondition_failed when the object is another now; empty: unpinned
  std::optional<std::uint64_t> expected_object_size{};  ///< another total is a `drift` error
  std::move_only_function<void(ReadOutcome)>
      done{};  ///< called exactly once, on a store thread or within start_read; must not block
};

/// A read on its way. Dropping it changes nothing.
class ReadHandle {
 public:
  virtual ~ReadHandle() = default;
  /// Asks for an early end; `done` is still called (with code cancelled, unless it had ended). Any thread.
  virtual void cancel() = 0;
};

enum class PutCondition {
  none,       ///< overwrite
  if_absent,  ///< create only (If-None-Match: *): precondition_failed when the key exists
  if_match,   ///< replace exactly `etag`: precondition_failed otherwise
};
struct PutRequest {
  std::string key{};
  std::string_view body{};  ///< stays valid during the call; unchanged over retries
  PutCondition condition = PutCondition::none;
  ETag etag{};  ///< for if_match
  std::string content_type{};
  std::string content_encoding{};
  std::vector<std::pair<std::string, std::string>> metadata{};  ///< user metadata, lower-case names without x-amz-meta-
  std::optional<Duration> timeout{};                            ///< of this request; the store's own default otherwise
  ObjectSettings settings{};
  ChecksumKind checksum = ChecksumKind::none;  ///< of the body: sent along, and compared with what the store says
};
struct PutResult {
  ETag etag;
  std::string checksum{};  ///< of the kind asked for, in base64 as S3 spells it; empty when none was
};
struct HeadResult {
  ObjectInfo info;
  std::vector<std::pair<std::string, std::string>> metadata;
  std::string content_encoding;
  std::string content_type{};  ///< empty when the store keeps none
};

/// Small objects read whole (a manifest, a listing): bytes and ETag together.
struct WholeObject {
  std::string bytes;
  ETag etag;
};

/// How the store likes to be read.
struct ReadAdvice {
  std::size_t read_bytes = 2U << 20U;  ///< size of one ranged read of a large object
  std::size_t reads_in_flight = 64;    ///< more bring nothing
  bool reads_at_once = false;          ///< read_at_once() is worth trying
};

class ObjectStore {
 public:
  virtual ~ObjectStore() = default;

  /// "s3://bucket" or "file://": for messages, without credentials.
  [[nodiscard]] virtual std::string describe() const = 0;
  /// One page, in any order the store likes. Blocks.
  [[nodiscard]] virtual Result<ListPage> list(const ListRequest& request) = 0;
  /// Starts a read and returns at once. Every byte range, size and ETag is checked against the answer; a mismatch is an
  /// error, not data.
  virtual std::shared_ptr<ReadHandle> start_read(ReadRequest request) = 0;
  /// The same read on the caller's thread, only if it needs no waiting because the bytes are in memory: whoever needs
  /// them has them in its own cache then. Nothing when it would have to wait or fails in any way: start_read does it or
  /// says why not. `request.done` is not called.
  [[nodiscard]] virtual std::optional<ReadInfo> read_at_once(const ReadRequest& /*request*/) { return std::nullopt; }
  /// Reads a whole object of at most `limit` bytes. Blocks. not_found when there is none.
  [[nodiscard]] virtual Result<WholeObject> get(std::string_view key, std::size_t limit,
                                                std::optional<Duration> timeout = {}) = 0;
  /// Success means durable. One request. A setting that the store knows nothing of is not_supported; corrupt, of a
  /// conditional put: the object is there, and its bytes are not those that were sent. Blocks.
  [[nodiscard]] virtual Result<PutResult> put(const PutRequest& request) = 0;
  /// not_found when there is none. Blocks.
  [[nodiscard]] virtual Result<HeadResult> head(std::string_view key) = 0;
  /// Removing what is not there succeeds. Blocks.
  [[nodiscard]] virtual Result<void> remove(std::string_view key) = 0;

  // An object in parts (upload.h says what that is; part_plan.h how to cut one). One try of each, and each blocks.
  // not_found of the middle three: there is no such upload, because it was completed or aborted, by us or by a rule of
  // the bucket. Whoever has lost the answer of a completion looks for the object then (head), and else begins again.

  /// not_supported where a store has no uploads, or knows nothing of a setting. A lost answer may leave an upload that
  /// only list_uploads() finds.
  [[nodiscard]] virtual Result<UploadId> begin_upload(const UploadRequest& request);
  /// `number` is 1 to kMostParts; one that is there already is replaced. `body` stays valid during the call. Several
  /// parts of an upload may be on their way at once.
  [[nodiscard]] virtual Result<PartResult> put_part(const UploadId& upload, int number, std::string_view body,
                                                    std::optional<Duration> timeout = {});
  /// Makes the object of these parts, in ascending order; others that were put are dropped. Success means durable.
  /// `condition` is none or if_absent. precondition_failed leaves the upload as it was. invalid_request: a part is
  /// missing, is another now, is too small, or lacks the checksum that the upload was begun with, and the upload will
  /// never do. corrupt: the object is there, and its bytes are not those that were sent.
  [[nodiscard]] virtual Result<PutResult> complete_upload(const UploadId& upload, std::span<const PartResult> parts,
                                                          PutCondition condition = PutCondition::none,
                                                          std::optional<Duration> timeout = {});
  /// Drops the upload with its parts; one that is not there is no error. A part on its way meanwhile fails with
  /// not_found, or is stored all the same and stays: whoever wants none to stay waits for his parts first, or aborts
  /// once more behind them.
  [[nodiscard]] virtual Result<void> abort_upload(const UploadId& upload);
  /// One page of what was begun and has not ended, by anybody, in the order of the keys.
  [[nodiscard]] virtual Result<UploadPage> list_uploads(const ListUploadsRequest& request);

  [[nodiscard]] virtual ReadAdvice read_advice() const { return {}; }
  /// Ends what is under way with code cancelled, promptly; later calls fail the same way. For a stop that cannot wait.
  /// Any thread.
  virtual void cancel_all() {}
};

}  // namespace millrace
#pragma GCC visibility pop
