// SPDX-License-Identifier: Apache-2.0
// FileStore: a folder tree as an object store. An object is a regular file, its key the path below the root; ETags name
// inode, time of the last change and size. A put is a temporary name, fsync, rename and fsync of the folder, so a crash
// leaves the old object or the new one (README.md says what else a file system makes different). Thread-safe.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "millrace/base/sync.h"
#include "millrace/store/object_store.h"
#include "millrace/store/store_url.h"
#include "store/file/file_walk.h"
#include "store/file/folder_care.h"
#include "store/file/read_pool.h"

namespace millrace {

struct FileStoreOptions {
  std::string root = "/";  ///< an absolute path
  std::size_t read_threads = 4;
};

class FileStore final : public ObjectStore {
 public:
  FileStore(FileStoreOptions options, StoreContext context);
  ~FileStore() override;

  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] Result<ListPage> list(const ListRequest& request) override;
  std::shared_ptr<ReadHandle> start_read(ReadRequest request) override;
  [[nodiscard]] std::optional<ReadInfo> read_at_once(const ReadRequest& request) override;
  [[nodiscard]] Result<WholeObject> get(std::string_view key, std::size_t limit,
                                        std::optional<Duration> timeout = {}) override;
  /// Content type, encoding and metadata are dropped: a file has no place for them. Settings are not_supported. A
  /// checksum is that of the bytes given, since nothing carries them further than the disk.
  [[nodiscard]] Result<PutResult> put(const PutRequest& request) override;
  [[nodiscard]] Result<HeadResult> head(std::string_view key) override;
  [[nodiscard]] Result<void> remove(std::string_view key) override;
  // Parts are files with dot-names in the object's folder until the object is made of them (README.md).
  [[nodiscard]] Result<UploadId> begin_upload(const UploadRequest& request) override;
  [[nodiscard]] Result<PartResult> put_part(const UploadId& upload, int number, std::string_view body,
                                            std::optional<Duration> timeout = {}) override;
  [[nodiscard]] Result<PutResult> complete_upload(const UploadId& upload, std::span<const PartResult> parts,
                                                  PutCondition condition = PutCondition::none,
                                                  std::optional<Duration> timeout = {}) override;
  [[nodiscard]] Result<void> abort_upload(const UploadId& upload) override;
  [[nodiscard]] Result<UploadPage> list_uploads(const ListUploadsRequest& request) override;
  [[nodiscard]] ReadAdvice read_advice() const override;
  void cancel_all() override;

 private:
  /// A listing between two pages, found again by the token of the next one.
  struct OpenWalk {
    std::uint64_t id = 0;
    std::unique_ptr<FileWalk> walk;
  };
  /// The path of a key; fails when no file can have it.
  Result<std::string> path_for(std::string_view key, ErrorCode otherwise) const;
  Result<void> going_on() const;
  Result<void> refuse_settings(std::string_view path, const ObjectSettings& settings) const;
  /// A time for a file: microseconds of the clock, nanoseconds of a counter, so that two within a tick still differ.
  std::int64_t next_stamp();
  ReadOutcome read(ReadJob& job) const;
  std::unique_ptr<FileWalk> resume_walk(const ListRequest& request);

  const std::string root_;  ///< with a slash at the end
  const StoreContext context_;
  Atomic<bool> cancelled_{false};
  Atomic<std::uint64_t> puts_{0};
  FolderCare folders_;
  Mutex mutex_;
  std::list<OpenWalk> walks_ MILLRACE_GUARDED_BY(mutex_);  ///< a few, the latest in front
  std::uint64_t next_walk_ MILLRACE_GUARDED_BY(mutex_) = 1;
  ReadPool pool_;  // last: its threads use everything above
};

#pragma GCC visibility push(default)  // to the component of the S3 store
[[nodiscard]] std::shared_ptr<ObjectStore> make_file_store(FileStoreOptions options, StoreContext context);
#pragma GCC visibility pop

}  // namespace millrace
