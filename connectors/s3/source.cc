// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/source.h"

#include <fmt/format.h>

#include <utility>

#include "connectors/s3/inspection.h"
#include "connectors/s3/lane.h"
#include "connectors/s3/planner.h"
#include "connectors/s3/process.h"
#include "connectors/s3/status.h"
#include "connectors/s3/way.h"
#include "millrace/base/printable.h"

namespace millrace::s3_source {

namespace {
constexpr std::size_t kAsideShown = 100;
}  // namespace

std::string base_of(const StoreUrl& url) {
  return url.scheme == "file" ? "file:///" : fmt::format("{}://{}/", url.scheme, url.bucket);
}

BackfillSource::BackfillSource(Settings settings, StartFlags flags, StoreOpener open)
    : settings_(std::move(settings)), flags_(flags), open_(std::move(open)), url_base_(base_of(settings_.url)) {}

BackfillSource::~BackfillSource() { close(); }

Result<std::shared_ptr<ObjectStore>> BackfillSource::open_one(const StoreUrl& url, const StoreOptions& options) {
  return open_(url, options, StoreContext{context_.clock, context_.random, context_.log});
}

Result<void> BackfillSource::open(SourceContext context) {
  context_ = std::move(context);
  MILLRACE_ASSIGN(metrics_, SourceMetrics::make(context_.meter));
  MILLRACE_ASSIGN(store_, open_one(settings_.url, settings_.store));
  checkpoint_store_ = store_;
  if (!settings_.one_store) {
    MILLRACE_ASSIGN(checkpoint_store_, open_one(settings_.checkpoint_url, settings_.checkpoint_store));
  }
  ManifestFile::Options file{.key = settings_.checkpoint_url.key,
                             .url = manifest_url(),
                             .timeout = settings_.given.checkpoint.timeout,
                             .owner_timeout = settings_.given.checkpoint.owner_timeout,
                             .retry = settings_.retry,
                             .store_unset = settings_.store_unset(),
                             .reset = flags_.reset,
                             .expect_resume = flags_.expect_resume,
                             .take_over = flags_.take_over,
                             .retry_quarantined = flags_.retry_quarantined};
  const Owner self = this_process(*context_.clock, *context_.random);
  file_ = std::make_unique<ManifestFile>(checkpoint_store_, std::move(file), self, *context_.clock, *context_.random,
                                         context_.log, stop_);
  kept_listing_ = std::make_unique<KeptListing>(checkpoint_store_, settings_.checkpoint_url.key, manifest_url(),
                                                settings_.given.checkpoint.timeout);
  if (settings_.receipt) MILLRACE_TRY(open_receipt(self.id));
  preparation_ = std::make_unique<Preparation>(Preparation::Parts{.settings = &settings_,
                                                                  .store = store_,
                                                                  .file = file_.get(),
                                                                  .kept = kept_listing_.get(),
                                                                  .receipt = receipt_file_.get(),
                                                                  .metrics = metrics_,
                                                                  .clock = context_.clock,
                                                                  .random = context_.random,
                                                                  .log = context_.log,
                                                                  .url_base = url_base_,
                                                                  .stop = &stop_,
                                                                  .done = [event = event_, control = context_.control] {
                                                                    event->signal();
                                                                    control.wake();
                                                                  }});
  preparation_->start();
  return {};
}

Result<void> BackfillSource::open_receipt(const std::string& owner) {
  const StoreUrl& url = settings_.receipt_url;
  const Settings::StoreRole role = settings_.role_of_receipt(url);
  std::shared_ptr<ObjectStore> store = role == Settings::StoreRole::source ? store_ : checkpoint_store_;
  if (role == Settings::StoreRole::own) {
    MILLRACE_ASSIGN(store, open_one(url, settings_.receipt_store));
  }
  receipt_file_ = std::make_unique<ReceiptFile>(checkpoint_store_, std::move(store),
                                                ReceiptFile::Options{.manifest_key = settings_.checkpoint_url.key,
                                                                     .manifest_url = manifest_url(),
                                                                     .key = url.key,
                                                                     .url = url.to_string(),
                                                                     .pipeline = context_.pipeline,
                                                                     .owner = owner,
                                                                     .timeout = settings_.given.checkpoint.timeout});
  return {};
}

Result<SourceEvent> BackfillSource::poll_events(Duration timeout) {
  const SteadyTime deadline = context_.clock->now() + timeout;
  while (true) {
    const EventCount::Ticket ticket = event_->ticket();
    if (failure_->happened()) return fail(*failure_->error());
    if (assigned_ && !finished_) {
      finished_ = true;
      return Finished{};
    }
    if (!assigned_) {
      if (auto prepared = preparation_->take()) {
        if (!*prepared) {
          failure_->set(prepared->error());
          return fail(std::move(*prepared).error());
        }
        return begin(*std::move(*prepared));
      }
    }
    if (context_.clock->now() >= deadline) return Idle{};
    event_->wait_until(ticket, *context_.clock, deadline);
  }
}

/// Everything is ready: hands out the whole assignment, once.
Result<SourceEvent> BackfillSource::begin(Prepared prepared) {
  preparation_->stop();
  const std::uint64_t lanes = settings_.given.lanes;
  const std::uint64_t left = prepared.retry ? prepared.manifest.quarantined.size()
                                            : prepared.listing->size() - objects_done(prepared.manifest);
  metrics_.objects_remaining.set(static_cast<double>(left));
  if (prepared.nothing_left) {
    context_.log.info("nothing was left to do: an earlier run committed every object",
                      {{"objects", fmt::format("{}", prepared.listing->size())}, {"manifest", manifest_url()}});
  } else if (prepared.retry) {
    context_.log.info("reading only what was set aside",
                      {{"objects", fmt::format("{}", left)}, {"manifest", manifest_url()}});
  } else if (prepared.resumed) {
    context_.log.info("resuming", {{"objects_left", fmt::format("{}", left)}, {"manifest", manifest_url()}});
  }
  fetch_ = prepared.fetch;
  trails_ = std::move(prepared.resume.trails);
  committed_ = prepared.resume.starts;

  S3Lane::Setup setup;
  setup.first_partition = first_partition();
  setup.fetch = fetch_;
  setup.failure = failure_;
  setup.acks = context_.acks;
  setup.compression = settings_.given.compression;
  setup.framer = settings_.framer;
  setup.framer_options.max_record_bytes = settings_.given.max_record_bytes.bytes;
  setup.framer_options.csv = settings_.csv;
  setup.decompressor_options.zstd_window_log_max = static_cast<int>(settings_.given.zstd_window_log_max);
  setup.decompressor_options.xz_memory_limit = settings_.given.xz_memory_limit.bytes;
  setup.receipt = settings_.receipt;
  setup.quarantine = settings_.given.on_object_error == OnObjectError::quarantine;
  setup.faults_told = std::make_shared<Atomic<std::uint64_t>>(0);
  setup.origin.stream = context_.pipeline;
  setup.origin.topic = settings_.name;
  setup.origin.bucket = settings_.url.bucket;
  setup.origin.lineage = lineage(*prepared.listing);
  setup.url = url_base_;
  setup.metrics = metrics_;
  setup.clock = context_.clock;
  setup.log = context_.log;

  LanesAssigned assignment;
  const MutexLock lock(mutex_);
  routes_ = prepared.routes;
  for (std::uint64_t lane = 0; lane < lanes; ++lane) {
    progress_.push_back(std::make_shared<LaneProgress>());
    progress_.back()->objects_done.store(routes_[lane].passed(), memory_order_relaxed);
    progress_.back()->bytes_done.store(routes_[lane].bytes_passed(), memory_order_relaxed);
    assignment.lanes.push_back(
        std::make_unique<S3Lane>(LaneId(static_cast<std::uint32_t>(lane)), setup, routes_[lane], progress_.back()));
  }
  listing_ = prepared.listing;
  as_found_ = prepared.manifest;
  skipped_before_ = prepared.manifest.skipped.count;
  quarantined_ = prepared.manifest.quarantined;
  nothing_left_ = prepared.nothing_left;
  if (prepared.retry) begin_retry(prepared);
  if (!prepared.nothing_left) {
    if (settings_.receipt) receipt_book_.emplace(routes_, prepared.partial);
    // An empty listing has no commit to come, and its receipt is to be written all the same.
    const bool only_receipt = settings_.receipt && prepared.manifest.complete && !prepared.retry;
    std::function<Result<StoredRecord>()> keep_listing;
    if (prepared.manifest.kept_listing.name.empty() && listing_->size() > 0) {
      keep_listing = [kept = kept_listing_.get(), listing = listing_] { return kept->write(*listing); };
    }
    keeper_ = std::make_shared<ManifestKeeper>(
        *file_, std::move(prepared.manifest), *context_.clock, *context_.random, context_.log,
        [failure = failure_, control = context_.control](const Error& error) {
          failure->set(error);
          control.wake();
        },
        std::move(keep_listing), std::move(receipt_file_));
    ReceiptNews news;
    if (settings_.receipt && !prepared.retry) {
      MILLRACE_ASSIGN(news, settle_left_retry(prepared.partial));
      news.partial = receipt_book_->partial();
    }
    if (only_receipt || !news.lines.empty()) {
      keeper_->submit({}, /*complete=*/only_receipt, {}, std::move(news), quarantined_);
    }
    keeper_->start();
  }
  assigned_ = true;
  return SourceEvent(std::move(assignment));
}

std::string BackfillSource::lineage(const Listing& listing) const {
  const auto& shard = settings_.identity.shard;
  return fmt::format("{}, {} objects ({:016x}), {} lanes{}", settings_.identity.default_name(), listing.size(),
                     listing.hash(), settings_.given.lanes, shard ? ", shard " + shard->describe() : "");
}

std::uint32_t BackfillSource::first_partition() const {
  const auto& shard = settings_.identity.shard;
  return shard ? static_cast<std::uint32_t>(shard->index * settings_.given.lanes) : 0;
}

Result<void> BackfillSource::flush_commits_by(SteadyTime deadline) {
  std::shared_ptr<ManifestKeeper> keeper;
  {
    const MutexLock lock(mutex_);
    keeper = keeper_;
  }
  return keeper ? keeper->flush(deadline) : Result<void>();
}

void BackfillSource::pause(std::span<const LaneId> lanes) {
  for (const LaneId lane : lanes) fetch_->pause(lane.value(), true);
}

void BackfillSource::resume(std::span<const LaneId> lanes) {
  for (const LaneId lane : lanes) fetch_->pause(lane.value(), false);
}

void BackfillSource::close_by(SteadyTime deadline) {
  if (std::exchange(closed_, true)) return;
  if (preparation_) preparation_->stop(deadline);
  if (fetch_) fetch_->stop();
  std::shared_ptr<ManifestKeeper> keeper;
  {
    const MutexLock lock(mutex_);
    keeper = keeper_;
  }
  if (keeper) keeper->release(deadline);
}

SourceProgress BackfillSource::progress() const {
  SourceProgress progress;
  const MutexLock lock(mutex_);
  if (!listing_) {
    progress.phase = "listing";
    progress.objects_total = preparation_ ? preparation_->keys_listed() : 0;
    return progress;
  }
  progress.phase = "reading";
  progress.objects_total = retry_ ? 0 : listing_->size();
  progress.objects_skipped = skipped_before_;
  progress.objects_quarantined = quarantined_.size();
  progress.bytes_total = retry_ ? retry_bytes_ : listing_->bytes();
  for (std::uint64_t lane = 0; lane < progress_.size(); ++lane) {
    SourceProgress::Lane one;
    one.lane = LaneId(static_cast<std::uint32_t>(lane));
    one.objects_total = routes_[lane].length();
    one.objects_done = progress_[lane]->objects_done.load(memory_order_relaxed);
    if (retry_) progress.objects_total += one.objects_total;
    if (const auto current = routes_[lane].after(one.objects_done)) one.current = printable(current->key);
    // What a retry sets aside once more is counted already.
    if (!retry_) progress.objects_quarantined += progress_[lane]->set_aside.size();
    progress.objects_skipped += progress_[lane]->objects_skipped.load(memory_order_relaxed);
    progress.objects_done += one.objects_done;
    progress.bytes_done += progress_[lane]->bytes_done.load(memory_order_relaxed);
    progress.lanes.push_back(std::move(one));
  }
  return progress;
}

/// The manifest as it is known to be in the store.
std::optional<Manifest> BackfillSource::kept() const {
  const MutexLock lock(mutex_);
  return keeper_ ? keeper_->saved() : as_found_;
}

std::string BackfillSource::status_json() const {
  const auto manifest = kept();
  if (!manifest) return "";
  // Asked for again and again while the run lasts.
  return s3_source::status_json(*manifest, manifest_url(), context_.clock->unix_micros(), kAsideShown);
}

std::string BackfillSource::committed_summary() const {
  const auto manifest = kept();
  if (!manifest) return "";
  std::string text = s3_source::committed_summary(*manifest, manifest_url());
  const MutexLock lock(mutex_);
  return nothing_left_ ? "nothing was left to do: " + text : text;
}

}  // namespace millrace::s3_source

namespace millrace {
Result<std::unique_ptr<Source>> S3Source::make(const ConfigSection& section, const BuildContext& context) {
  MILLRACE_ASSIGN(S3SourceOptions options, schema().parse(section));
  options.receipt = context.receipt;
  return make(std::move(options), context);
}

Result<std::unique_ptr<Source>> S3Source::make(S3SourceOptions options, const BuildContext& context) {
  // What fails once more stays set aside, whatever the file says by now.
  if (context.retry_quarantined) options.on_object_error = OnObjectError::quarantine;
  MILLRACE_ASSIGN(s3_source::Settings settings, s3_source::settle(std::move(options)));
  return std::make_unique<s3_source::BackfillSource>(
      std::move(settings),
      s3_source::StartFlags{context.reset, context.expect_resume, context.take_over, context.retry_quarantined});
}

SourceKind S3Source::kind() {
  SourceKind kind;
  kind.name = "s3";
  kind.description = schema().description();
  kind.validate = [](const ConfigSection& section) -> Result<void> {
    MILLRACE_TRY(schema().parse(section));
    return {};
  };
  kind.make = [](const ConfigSection& section, const BuildContext& context) { return make(section, context); };
  kind.payload_format = [](const ConfigSection& section) -> std::string {
    const auto options = schema().parse(section);
    return options ? options->format : "";
  };
  kind.check_receipt = [](const ConfigSection& section, const ReceiptRequest& receipt) -> Result<void> {
    MILLRACE_ASSIGN(S3SourceOptions options, schema().parse(section));
    options.receipt = receipt;
    MILLRACE_TRY(s3_source::settle(std::move(options)));
    return {};
  };
  kind.past_faults = [](const ConfigSection& section, ErrorCode code) -> std::string {
    if (!s3_source::is_fault_of_bytes(code)) return "";
    const auto options = schema().parse(section);
    const bool fails = options && options->on_object_error == OnObjectError::fail;
    return fails ? section.path() + ".on_object_error=quarantine" : "";
  };
  kind.replay_gap = [](const ConfigSection& section) -> std::string {
    const auto options = schema().parse(section);
    return options ? s3_source::replay_gap(*options) : "";
  };
  kind.status = s3_source::read_status;
  kind.drift = s3_source::report_drift;
  kind.verify = s3_source::verify;
  kind.plan = s3_source::plan;
  kind.way = [](const ConfigSection& section, const BuildContext& context) -> Result<SourceWay> {
    MILLRACE_ASSIGN(S3SourceOptions options, schema().parse(section));
    options.receipt = context.receipt;
    MILLRACE_ASSIGN(const s3_source::Settings settings, s3_source::settle(std::move(options)));
    return s3_source::way_of(settings);
  };
  kind.names = [](const ConfigSection& section, const BuildContext& context) -> Result<Origin> {
    MILLRACE_ASSIGN(S3SourceOptions options, schema().parse(section));
    MILLRACE_ASSIGN(const s3_source::Settings settings, s3_source::settle(std::move(options)));
    Origin names;
    names.stream = context.pipeline;
    names.topic = settings.name;
    names.bucket = settings.url.bucket;
    names.object = settings.url.key + "part-1";
    return names;
  };
  return kind;
}

}  // namespace millrace
