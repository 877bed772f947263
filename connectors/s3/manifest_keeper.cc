// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/manifest_keeper.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace millrace::s3_source {

ManifestKeeper::ManifestKeeper(ManifestFile& file, Manifest first, Clock& clock, Random& random, Logger log,
                               std::function<void(const Error&)> on_failure,
                               std::function<Result<StoredRecord>()> keep_listing, std::unique_ptr<ReceiptFile> receipt)
    : file_(file),
      clock_(clock),
      log_(std::move(log)),
      on_failure_(std::move(on_failure)),
      keep_listing_(std::move(keep_listing)),
      receipt_(std::move(receipt)),
      // Each try packs the whole listing anew.
      keep_listing_backoff_({.initial = std::chrono::seconds(1), .cap = std::chrono::minutes(1)}, random),
      next_(first),
      saved_(std::move(first)),
      done_(saved_.owner.released),
      backoff_({.initial = std::chrono::milliseconds(200), .cap = std::chrono::seconds(5)}, random),
      last_save_(clock.now()),
      not_before_(last_save_) {}

ManifestKeeper::~ManifestKeeper() { release(); }

void ManifestKeeper::start() {
  {
    const MutexLock lock(mutex_);
    ended_ = false;
  }
  thread_ = Thread("s3-manifest", [this] { run(); });
}

SteadyTime ManifestKeeper::next_heartbeat() const {
  // A finished manifest has no owner, hence no heartbeat.
  if (saved_.owner.released) return clock_.now() + std::chrono::hours(1);
  return std::max(last_save_ + sign_of_life(file_.options().owner_timeout), not_before_);
}

void ManifestKeeper::run() {
  if (auto probed = file_.probe_conditions(saved()); !probed) {
    log_.warn("the store's conditional writes could not be tried out", {{"error", probed.error().describe()}});
  }
  keep_listing();
  // Written without the lock, so that nobody who submits waits for a store.
  for (bool more = true; more;) {
    switch (wait_for_work()) {
      case Work::keep_listing:
        keep_listing();
        break;
      case Work::save: {
        Save save = next_save();
        more = !save.last;
        auto saved = write(save);
        settle(std::move(save), std::move(saved));
        break;
      }
      case Work::end:
        more = false;
    }
  }
  const MutexLock lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

/// Waits until there is something to do: end, when the end has come and there is no goodbye to say.
ManifestKeeper::Work ManifestKeeper::wait_for_work() {
  const MutexLock lock(mutex_);
  while (!ending_ && !failure_) {
    const SteadyTime save_at = durable_ < submitted_ ? not_before_ : next_heartbeat();
    const SteadyTime now = clock_.now();
    if (now >= save_at) return Work::save;
    if (now >= keep_listing_at_) return Work::keep_listing;
    clock_.wait_until(changed_, mutex_, std::min(save_at, keep_listing_at_));
  }
  return failure_ || given_up_ || (saved_.owner.released && durable_ == submitted_) ? Work::end : Work::save;
}

ManifestKeeper::Save ManifestKeeper::next_save() {
  const MutexLock lock(mutex_);
  // A finished backfill needs no owner.
  if (!ending_) return save_of(/*released=*/done_, /*last=*/false);
  // Goodbye, so that the next run need not wait. One try: what does not work now is found out by whoever waits for a
  // sign of life.
  return save_of(/*released=*/true, /*last=*/true);
}

ManifestKeeper::Save ManifestKeeper::save_of(bool released, bool last) const {
  return {.manifest = next_, .holds = submitted_, .released = released, .last = last, .done = done_, .news = news_};
}

Result<void> ManifestKeeper::write(Save& save) {
  if (receipt_) {
    if (save.news) MILLRACE_TRY(write_part(save));
    if (save.done && !save.manifest.receipt->finished) MILLRACE_TRY(finish_receipt(save));
  }
  MILLRACE_TRY(file_.save(save.manifest, save.released));
  if (receipt_) save.manifest.receipt->finished ? receipt_->remove_parts() : receipt_->saved();
  return {};
}

/// What the receipt says of the positions is durable before they are.
Result<void> ManifestKeeper::write_part(Save& save) {
  ReceiptState& state = *save.manifest.receipt;
  MILLRACE_ASSIGN(state.at, receipt_->write(save.news->lines, std::move(save.news->partial)));
  state.finished = false;
  const MutexLock lock(mutex_);
  next_.receipt = state;
  news_->lines.erase(0, save.news->lines.size());
  if (submitted_ == save.holds) news_.reset();
  return {};
}

/// All of it is durable before the backfill is called complete. Saved once more before, as who has been taken over must
/// not write over the receipt of another.
Result<void> ManifestKeeper::finish_receipt(Save& save) {
  Manifest so_far = save.manifest;
  so_far.complete = false;
  MILLRACE_TRY(file_.save(so_far, /*released=*/false));
  save.manifest.generation = so_far.generation;
  MILLRACE_ASSIGN(save.manifest.receipt->at, receipt_->finish(save.manifest));
  save.manifest.receipt->finished = true;
  return {};
}

/// First the listing, then a manifest that names it: a crash in between leaves a manifest that names none, and the next
/// run writes it again. Only the owner writes, so that no other run's comes in its place.
void ManifestKeeper::keep_listing() {
  if (!keep_listing_) return;
  auto kept = keep_listing_();
  if (!kept) {
    const bool again = kept.error().is_retryable();
    const bool is_first = keep_listing_backoff_.attempts() == 0;
    keep_listing_at_ = again ? clock_.now() + keep_listing_backoff_.next() : SteadyTime::max();
    log_.log(!again || is_first ? LogLevel::warn : LogLevel::debug,
             again ? "the listing could not be kept beside the manifest; trying again while the run goes on"
                   : "the listing could not be kept beside the manifest; should objects change, they cannot be named",
             {{"error", kept.error().describe()}});
    return;
  }
  keep_listing_at_ = SteadyTime::max();
  const MutexLock lock(mutex_);
  next_.kept_listing = *std::move(kept);
  ++submitted_;
}

void ManifestKeeper::settle(Save save, Result<void> saved) {
  const MutexLock lock(mutex_);
  next_.generation = save.manifest.generation;
  last_save_ = clock_.now();
  if (saved) {
    saved_ = std::move(save.manifest);
    durable_ = save.holds;
    last_error_.reset();
    backoff_.reset();
    not_before_ = last_save_;
  } else if (given_up_) {
    last_error_ = std::move(saved).error();
  } else if (saved.error().is_retryable()) {
    if (!last_error_) log_.warn("the manifest could not be saved; trying again", {{"error", saved.error().describe()}});
    // However long the store asks for: a manifest without a sign of life is taken over.
    const auto asked = saved.error().retry_after();
    const Duration most = sign_of_life(file_.options().owner_timeout);
    not_before_ = last_save_ + backoff_.next(asked ? std::optional(std::min<Duration>(*asked, most)) : std::nullopt);
    last_error_ = std::move(saved).error();
  } else {
    failure_ = std::move(saved).error();
    log_.error("no position can be kept any more", {{"error", failure_->describe()}});
    on_failure_(*failure_);
  }
  changed_.notify_all();
}

void ManifestKeeper::submit(const std::vector<LanePosition>& positions, bool complete,
                            const std::vector<std::string>& skipped, ReceiptNews receipt,
                            std::optional<Quarantine> quarantined) {
  const MutexLock lock(mutex_);
  for (const std::string& key : skipped) next_.skipped.add(key);
  if (quarantined) next_.quarantined = *std::move(quarantined);
  next_.complete = complete;
  put_in(positions, complete, std::move(receipt));
}

void ManifestKeeper::submit_retry(RetryNews news, ReceiptNews receipt) {
  const MutexLock lock(mutex_);
  next_.quarantined = std::move(news.left);
  next_.listing = news.listing;
  next_.whole = std::move(news.whole);
  put_in(news.positions, news.done, std::move(receipt));
}

void ManifestKeeper::put_in(const std::vector<LanePosition>& positions, bool done, ReceiptNews receipt) {
  if (receipt_) {
    if (!news_) news_.emplace();
    news_->lines += receipt.lines;
    news_->partial = std::move(receipt.partial);
  }
  for (const LanePosition& position : positions) {
    const auto at = std::ranges::lower_bound(next_.positions, position.lane, {}, &LanePosition::lane);
    if (at != next_.positions.end() && at->lane == position.lane) {
      *at = position;
    } else {
      next_.positions.insert(at, position);
    }
  }
  done_ = done;
  ++submitted_;
  not_before_ = std::min(not_before_, clock_.now());  // a failed save is tried again on the next tick
  changed_.notify_all();
}

Result<void> ManifestKeeper::flush(SteadyTime deadline) {
  const MutexLock lock(mutex_);
  deadline = std::min(deadline, clock_.now() + 2 * file_.options().timeout);
  while (durable_ < submitted_ && !failure_ && !ending_ && clock_.now() < deadline) {
    clock_.wait_until(changed_, mutex_, deadline);
  }
  if (failure_) return fail(*failure_);
  if (durable_ == submitted_) return {};
  return fail(
      Error::fatal(ErrorCode::not_durable,
                   fmt::format("the last positions could not be saved to {} in time: {}. They are replayed by the "
                               "next run; nothing is lost",
                               file_.options().url, last_error_ ? last_error_->message() : "no answer yet")));
}

void ManifestKeeper::release(SteadyTime deadline) {
  {
    const MutexLock lock(mutex_);
    ending_ = true;
    changed_.notify_all();
    while (!ended_ && clock_.now() < deadline) clock_.wait_until(changed_, mutex_, deadline);
    given_up_ = !ended_;
  }
  // A no-op when nothing is under way.
  if (deadline != SteadyTime::max()) file_.cancel();
  thread_.join();
}

std::optional<Error> ManifestKeeper::last_error() const {
  const MutexLock lock(mutex_);
  return last_error_;
}

std::optional<Error> ManifestKeeper::failure() const {
  const MutexLock lock(mutex_);
  return failure_;
}

Manifest ManifestKeeper::saved() const {
  const MutexLock lock(mutex_);
  return saved_;
}

}  // namespace millrace::s3_source
