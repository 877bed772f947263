// SPDX-License-Identifier: Apache-2.0
// ManifestKeeper: saves positions on an I/O thread of its own, the latest winning, and keeps the heartbeat. The control
// thread hands over and never waits, flush() excepted.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "connectors/s3/manifest_file.h"
#include "connectors/s3/receipt_file.h"
#include "millrace/base/sync.h"

namespace millrace::s3_source {

/// What a retry of set-aside objects has brought about, in a manifest that is complete and stays so.
struct RetryNews {
  Quarantine left;                      ///< what is still set aside
  std::vector<LanePosition> positions;  ///< as far as before, pinned anew
  Manifest::Listed listing;
  std::optional<WholeListing> whole;
  bool done = false;  ///< nothing is left to retry in this run
};

class ManifestKeeper {
 public:
  /// `first` is what claim() wrote: the manifest as it stands. `on_failure` is called once, on the keeper's thread,
  /// when the manifest is lost to this run. `keep_listing`, where one is still to be kept, writes it; it is called
  /// on the keeper's thread, again and again while it fails retryably, and the next save names what it wrote.
  /// `receipt`, where one was asked for, has gone on from `first`.
  ManifestKeeper(ManifestFile& file, Manifest first, Clock& clock, Random& random, Logger log,
                 std::function<void(const Error&)> on_failure,
                 std::function<Result<StoredRecord>()> keep_listing = nullptr,
                 std::unique_ptr<ReceiptFile> receipt = nullptr);
  ~ManifestKeeper();
  ManifestKeeper(const ManifestKeeper&) = delete;
  ManifestKeeper& operator=(const ManifestKeeper&) = delete;

  void start();
  /// Positions that moved, to be saved soon; `complete` when nothing is left to commit. A finished backfill needs no
  /// owner, so its last save also says goodbye.
  /// `skipped`: keys of objects before those positions that were left out. `receipt`: what it says of them.
  /// `quarantined`: all objects that are set aside, where that has changed.
  void submit(const std::vector<LanePosition>& positions, bool complete, const std::vector<std::string>& skipped = {},
              ReceiptNews receipt = {}, std::optional<Quarantine> quarantined = std::nullopt);
  void submit_retry(RetryNews news, ReceiptNews receipt = {});
  /// Waits until everything submitted is durable. Fails (not_durable) when that does not come about by `deadline` or
  /// within twice checkpoint.timeout, or with what ended the keeper.
  [[nodiscard]] Result<void> flush(SteadyTime deadline = SteadyTime::max());
  /// Says goodbye in the manifest, if it is still ours, and ends the thread. At most one more try of one save, which is
  /// cut off at `deadline`.
  void release(SteadyTime deadline = SteadyTime::max());

  /// Why the latest save failed, while nothing newer has been saved; it is tried again. Any thread.
  [[nodiscard]] std::optional<Error> last_error() const;

  /// Set for good when the manifest is lost (fenced, or an error that will not pass). Any thread.
  [[nodiscard]] std::optional<Error> failure() const;
  /// A copy of what is saved. Any thread.
  [[nodiscard]] Manifest saved() const;

 private:
  void run();
  void keep_listing();
  /// One version on its way to the store.
  struct Save {
    Manifest manifest;
    std::uint64_t holds = 0;  ///< so many submissions
    bool released = false;
    bool last = false;
    bool done = false;
    std::optional<ReceiptNews> news;  ///< what is in no part of the receipt yet
  };
  void put_in(const std::vector<LanePosition>& positions, bool done, ReceiptNews receipt) MILLRACE_REQUIRES(mutex_);
  [[nodiscard]] Save save_of(bool released, bool last) const MILLRACE_REQUIRES(mutex_);
  enum class Work { keep_listing, save, end };
  Work wait_for_work();
  Save next_save();
  Result<void> write(Save& save);
  Result<void> write_part(Save& save);
  Result<void> finish_receipt(Save& save);
  void settle(Save save, Result<void> saved);
  [[nodiscard]] SteadyTime next_heartbeat() const MILLRACE_REQUIRES(mutex_);

  ManifestFile& file_;
  Clock& clock_;
  const Logger log_;
  const std::function<void(const Error&)> on_failure_;
  const std::function<Result<StoredRecord>()> keep_listing_;
  const std::unique_ptr<ReceiptFile> receipt_;  // null: none was asked for
  // The keeper's thread's own.
  SteadyTime keep_listing_at_ = SteadyTime::max();  // when it is tried again
  Backoff keep_listing_backoff_;

  mutable Mutex mutex_;
  CondVar changed_;
  Manifest next_ MILLRACE_GUARDED_BY(mutex_);  // what the next save writes
  Manifest saved_ MILLRACE_GUARDED_BY(mutex_);
  std::optional<ReceiptNews> news_ MILLRACE_GUARDED_BY(mutex_);  // in no part yet
  bool done_ MILLRACE_GUARDED_BY(mutex_);                        // this run has nothing left to commit
  std::uint64_t submitted_ MILLRACE_GUARDED_BY(mutex_) = 0;
  std::uint64_t durable_ MILLRACE_GUARDED_BY(mutex_) = 0;  // submissions that a save holds
  Backoff backoff_ MILLRACE_GUARDED_BY(mutex_);
  SteadyTime last_save_ MILLRACE_GUARDED_BY(mutex_);
  SteadyTime not_before_ MILLRACE_GUARDED_BY(mutex_);  // after a failed save
  std::optional<Error> last_error_ MILLRACE_GUARDED_BY(mutex_);
  std::optional<Error> failure_ MILLRACE_GUARDED_BY(mutex_);
  bool ending_ MILLRACE_GUARDED_BY(mutex_) = false;
  bool ended_ MILLRACE_GUARDED_BY(mutex_) = true;      // the thread is through, or was never started
  bool given_up_ MILLRACE_GUARDED_BY(mutex_) = false;  // the file was cancelled: what fails from here on says nothing
  Thread thread_;
};

}  // namespace millrace::s3_source
