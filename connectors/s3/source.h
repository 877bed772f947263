// SPDX-License-Identifier: Apache-2.0
// BackfillSource: the control plane of the S3 source. Belongs to the control thread; progress() and status_json() may
// be asked from any. S3Source::make is how others get one.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "connectors/s3/failure.h"
#include "connectors/s3/lane_progress.h"
#include "connectors/s3/manifest_file.h"
#include "connectors/s3/manifest_keeper.h"
#include "connectors/s3/options.h"
#include "connectors/s3/preparation.h"
#include "connectors/s3/receipt_book.h"
#include "connectors/s3/retry_state.h"
#include "millrace/source/source.h"

namespace millrace::s3_source {

/// Opens the store of a url; open_store, or a test's own.
using StoreOpener =
    std::function<Result<std::shared_ptr<ObjectStore>>(const StoreUrl&, const StoreOptions&, const StoreContext&)>;

/// What a key is put behind so that people can find the object: "s3://bucket/".
[[nodiscard]] std::string base_of(const StoreUrl& url);

/// Words of the command line.
struct StartFlags {
  bool reset = false;
  bool expect_resume = false;
  bool take_over = false;
  bool retry_quarantined = false;
};

class BackfillSource final : public Source {
 public:
  BackfillSource(Settings settings, StartFlags flags, StoreOpener open = open_store);
  ~BackfillSource() override;

  [[nodiscard]] Result<void> open(SourceContext context) override;
  [[nodiscard]] Result<SourceEvent> poll_events(Duration timeout) override;
  [[nodiscard]] Result<void> commit(std::span<const PartitionWatermark> watermarks) override;
  [[nodiscard]] Result<void> flush_commits() override { return flush_commits_by(SteadyTime::max()); }
  [[nodiscard]] Result<void> flush_commits_by(SteadyTime deadline) override;
  void pause(std::span<const LaneId> lanes) override;
  void resume(std::span<const LaneId> lanes) override;
  void close() override { close_by(SteadyTime::max()); }
  void close_by(SteadyTime deadline) override;
  [[nodiscard]] bool keeps_account() const override { return settings_.receipt; }
  [[nodiscard]] std::string replay_gap() const override {
    if (flags_.retry_quarantined)
      return "--retry-quarantined reads under offsets that are passed; give that run another sink";
    return s3_source::replay_gap(settings_.given);
  }
  [[nodiscard]] bool bounded() const override { return true; }
  [[nodiscard]] SourceProgress progress() const override;
  [[nodiscard]] std::string status_json() const override;
  [[nodiscard]] std::string committed_summary() const override;

 private:
  Result<std::shared_ptr<ObjectStore>> open_one(const StoreUrl& url, const StoreOptions& options);
  Result<void> open_receipt(const std::string& owner);
  Result<SourceEvent> begin(Prepared prepared);
  void begin_retry(Prepared& prepared) MILLRACE_REQUIRES(mutex_);
  Result<ReceiptNews> settle_left_retry(const std::vector<PartialReceipt>& partial) MILLRACE_REQUIRES(mutex_);
  Result<void> commit_retry(std::span<const PartitionWatermark> watermarks) MILLRACE_REQUIRES(mutex_);
  [[nodiscard]] Result<std::uint32_t> lane_of(PartitionId partition) const;
  Result<bool> set_aside_behind(std::uint64_t lane, Watermark& watermark) MILLRACE_REQUIRES(mutex_);
  Result<void> add_to_receipt(std::uint64_t lane, Watermark watermark, Position at,
                              std::span<const std::uint64_t> left_out, std::string& lines) MILLRACE_REQUIRES(mutex_);
  [[nodiscard]] std::optional<Manifest> kept() const;
  /// Shard index x lanes, so that no two shards share a partition.
  [[nodiscard]] std::uint32_t first_partition() const;
  /// What the offsets of this listing count.
  [[nodiscard]] std::string lineage(const Listing& listing) const;
  [[nodiscard]] std::string manifest_url() const { return settings_.checkpoint_url.to_string(); }

  const Settings settings_;
  const StartFlags flags_;
  const StoreOpener open_;
  SourceContext context_;
  SourceMetrics metrics_;
  std::string url_base_;
  std::shared_ptr<Failure> failure_ = std::make_shared<Failure>();

  StopSignal stop_;
  std::shared_ptr<EventCount> event_ = std::make_shared<EventCount>();
  std::shared_ptr<ObjectStore> store_;
  std::shared_ptr<ObjectStore> checkpoint_store_;
  std::unique_ptr<ManifestFile> file_;
  std::unique_ptr<KeptListing> kept_listing_;
  std::unique_ptr<ReceiptFile> receipt_file_;  // until the keeper takes it; null where none is asked for
  std::unique_ptr<Preparation> preparation_;
  bool assigned_ = false;
  bool finished_ = false;
  bool closed_ = false;

  std::optional<ReceiptBook> receipt_book_;
  std::vector<LaneTrail> trails_;
  std::vector<Position> committed_;

  // Written once by begin(), read from any thread afterwards.
  mutable Mutex mutex_;
  std::shared_ptr<const Listing> listing_ MILLRACE_GUARDED_BY(mutex_);
  std::vector<LaneRoute> routes_ MILLRACE_GUARDED_BY(mutex_);  // from their beginnings
  std::vector<std::shared_ptr<LaneProgress>> progress_ MILLRACE_GUARDED_BY(mutex_);
  std::shared_ptr<ManifestKeeper> keeper_ MILLRACE_GUARDED_BY(mutex_);
  std::optional<Manifest> as_found_ MILLRACE_GUARDED_BY(mutex_);
  std::optional<RetryState> retry_ MILLRACE_GUARDED_BY(mutex_);
  std::uint64_t retry_bytes_ MILLRACE_GUARDED_BY(mutex_) = 0;
  Quarantine quarantined_ MILLRACE_GUARDED_BY(mutex_);            // as the manifest is told, by earlier runs too
  std::uint64_t skipped_before_ MILLRACE_GUARDED_BY(mutex_) = 0;  // by earlier runs
  bool nothing_left_ MILLRACE_GUARDED_BY(mutex_) = false;

  std::shared_ptr<FetchLoop> fetch_;  // last: its thread uses what stands above
};

}  // namespace millrace::s3_source
