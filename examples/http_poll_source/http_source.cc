// SPDX-License-Identifier: Apache-2.0
#include "http_source.h"

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "feed_client.h"
#include "position_file.h"

using millrace::Duration;
using millrace::Error;
using millrace::fail;
using millrace::MutexLock;
using millrace::Offset;
using millrace::Result;
using millrace::SteadyTime;

namespace {

// The data plane: one feed. A thread of its own asks, one page ahead, so that poll() never waits for the network.
class FeedLane final : public millrace::SourceLane {
 public:
  FeedLane(std::uint32_t number, Offset from, const HttpSourceOptions& options, const millrace::SourceContext& context)
      : number_(number),
        options_(options),
        acks_(context.acks),
        clock_(context.clock),
        random_(context.random),
        log_(context.log),
        client_({options.url, options.feeds[number], options.token, options.page_size, options.timeout}) {
    auto origin = std::make_shared<millrace::Origin>();
    origin->stream = context.pipeline;
    origin->topic = options.feeds[number];
    origin->lineage = client_.place();  // what the offsets count
    origin_ = std::move(origin);
    fetcher_ = millrace::Thread("feed-" + std::to_string(number), [this, from] { fetch(from); });
  }

  // The fetcher is the last member: it is joined before anything that it uses goes.
  ~FeedLane() override {
    {
      const MutexLock lock(mutex_);
      leaving_ = true;
      changed_.notify_all();
    }
    client_.stop();
  }

  millrace::LaneId id() const override { return millrace::LaneId(number_); }
  millrace::PartitionId partition() const override { return millrace::PartitionId(number_); }

  bool set_waker(millrace::Waker waker) override {
    const MutexLock lock(mutex_);
    waker_ = std::move(waker);
    return true;
  }

  Result<millrace::PollResult> poll(std::size_t max_records, Duration timeout) override {
    if (!page_ || taken_ == page_->records.size()) {
      page_.reset();  // what was lent of it is lent no longer
      taken_ = 0;
      MILLRACE_ASSIGN(const bool came, take_page(timeout));
      if (!came) return millrace::Idle{};
      if (!page_) return millrace::Exhausted{};
    }
    const std::size_t count = std::min(max_records, page_->records.size() - taken_);
    millrace::PayloadBatch batch;
    batch.payloads = std::span(page_->records).subspan(taken_, count);
    batch.offsets = std::span(page_->offsets).subspan(taken_, count);
    batch.partition = partition();
    batch.origin = origin_;
    batch.readable_padding = millrace::kBytePadding;
    batch.ack = acks_.issue(partition(), batch.offsets.back());
    taken_ += count;
    return batch;
  }

 private:
  // False: nothing has come within the timeout. The end leaves page_ null.
  Result<bool> take_page(Duration timeout) {
    const SteadyTime deadline = clock_->now() + timeout;
    const MutexLock lock(mutex_);
    while (!arrived_ && clock_->now() < deadline) clock_->wait_until(changed_, mutex_, deadline);
    if (!arrived_) return false;
    if (!*arrived_) return fail(arrived_->error());
    page_ = std::move(**arrived_);
    if (page_) arrived_.reset();
    changed_.notify_all();
    return true;
  }

  // The fetcher's thread, from here on.
  void fetch(Offset from) {
    millrace::Backoff backoff(options_.backoff, *random_);
    for (;;) {
      Result<std::unique_ptr<Page>> page = client_.get(from);
      if (left_within(Duration::zero())) return;
      if (!page && page.error().is_retryable()) {
        const Duration wait = backoff.next(page.error().retry_after());
        log_.warn("a feed does not answer and is asked again",
                  {{"try", std::to_string(backoff.attempts())}, {"error", page.error().describe()}});
        if (left_within(wait)) return;
        continue;
      }
      if (!page) {
        hand_over(fail(std::move(page).error()));
        return;
      }
      backoff.reset();
      from = (*page)->next;
      const bool more = (*page)->more;
      const bool empty = (*page)->records.empty();
      if (!empty && !hand_over(std::move(page))) return;
      if (!more && !options_.follow) {
        hand_over(nullptr);
        return;
      }
      if ((!more || empty) && left_within(options_.poll_interval)) return;
    }
  }

  // Waits until the page before has been taken; false when the lane goes.
  bool hand_over(Result<std::unique_ptr<Page>> page) {
    const MutexLock lock(mutex_);
    while (arrived_ && !leaving_) changed_.wait(mutex_);
    if (leaving_) return false;
    arrived_ = std::move(page);
    changed_.notify_all();
    waker_.wake();
    return true;
  }

  // Rests for so long; true when the lane goes meanwhile.
  bool left_within(Duration rest) {
    const SteadyTime deadline = clock_->now() + rest;
    const MutexLock lock(mutex_);
    while (!leaving_ && clock_->now() < deadline) clock_->wait_until(changed_, mutex_, deadline);
    return leaving_;
  }

  const std::uint32_t number_;
  const HttpSourceOptions options_;
  millrace::AckIssuer acks_;
  millrace::Clock* const clock_;
  millrace::Random* const random_;
  const millrace::Logger log_;
  FeedClient client_;
  std::shared_ptr<const millrace::Origin> origin_;

  std::unique_ptr<Page> page_;  // the lane's thread: what is lent now,
  std::size_t taken_ = 0;       // and how much of it was

  millrace::Mutex mutex_;
  millrace::CondVar changed_;
  /// A page that waits for its poll; null: the end; an error: nothing comes behind it.
  std::optional<Result<std::unique_ptr<Page>>> arrived_ MILLRACE_GUARDED_BY(mutex_);
  bool leaving_ MILLRACE_GUARDED_BY(mutex_) = false;
  millrace::Waker waker_ MILLRACE_GUARDED_BY(mutex_);

  millrace::Thread fetcher_;
};

// The control plane, on the thread that calls run().
class FeedSource final : public millrace::Source {
 public:
  explicit FeedSource(HttpSourceOptions options) : options_(std::move(options)) {}

  Result<void> open(millrace::SourceContext context) override {
    context_ = std::move(context);
    MILLRACE_ASSIGN(positions_, read_positions(options_.positions));
    return write_positions(options_.positions, positions_);  // what cannot be kept is told before a record moves
  }

  Result<millrace::SourceEvent> poll_events(Duration /*timeout*/) override {
    if (assigned_) {
      if (bounded()) return millrace::Finished{};
      return millrace::Idle{};
    }
    assigned_ = true;
    millrace::LanesAssigned all;
    for (std::uint32_t number = 0; number < options_.feeds.size(); ++number) {
      const auto known = positions_.find(options_.feeds[number]);
      const Offset from(known != positions_.end() ? known->second : 0);
      all.lanes.push_back(std::make_unique<FeedLane>(number, from, options_, context_));
    }
    return all;
  }

  // Each is one past the last record that is durable in every sink: the offset to ask for next.
  Result<void> commit(std::span<const millrace::PartitionWatermark> watermarks) override {
    for (const auto& [partition, watermark] : watermarks) {
      positions_[options_.feeds[partition.value()]] = watermark.value();
    }
    return write_positions(options_.positions, positions_);
  }

  bool bounded() const override { return !options_.follow; }
  // The API promises that an item keeps its offset, so a sink may write exactly once.
  std::string replay_gap() const override { return ""; }
  std::string committed_summary() const override {
    std::string text;
    for (const auto& [feed, offset] : positions_) {
      text += (text.empty() ? "" : ", ") + feed + " up to " + std::to_string(offset);
    }
    return text;
  }

 private:
  const HttpSourceOptions options_;
  millrace::SourceContext context_;
  Positions positions_;
  bool assigned_ = false;
};

}  // namespace

Result<std::unique_ptr<millrace::Source>> HttpSource::make(HttpSourceOptions options) {
  if (!options.url.starts_with("http://") && !options.url.starts_with("https://")) {
    return fail(Error::config("HttpSource: url '" + options.url + "' begins with neither http:// nor https://"));
  }
  if (options.feeds.empty()) return fail(Error::config("HttpSource: feeds is empty: name at least one, as in /orders"));
  for (const std::string& feed : options.feeds) {
    if (feed.starts_with('/') && feed.find_first_of(" \t\r\n?#") == std::string::npos) continue;
    return fail(Error::config("HttpSource: feed '" + feed + "' is no path: it begins with / and has no blank, ? or #"));
  }
  if (std::set<std::string>(options.feeds.begin(), options.feeds.end()).size() != options.feeds.size()) {
    return fail(Error::config("HttpSource: a feed is named twice, and each has one position"));
  }
  if (options.positions.empty()) return fail(Error::config("HttpSource: positions names no file"));
  return std::make_unique<FeedSource>(std::move(options));
}
