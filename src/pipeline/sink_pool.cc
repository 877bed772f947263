// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sink_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "pipeline/user_code_adapter.h"

namespace millrace {
namespace {

// What a write under way gets to react to cancel() once the drain deadline has passed.
constexpr Duration kCancelGrace = std::chrono::seconds(1);

SinkQueue::Options queue_options(const SinkTraits& traits, const SealPolicy& policy, ThreadHost& host) {
  // A chunk's buffer grows by halves, so it ends within twice the size at which it is sealed.
  const std::size_t usual = policy.max_bytes != 0 ? 2 * policy.max_bytes : std::size_t{16} << 20U;
  return {.workers = std::max<std::size_t>(traits.concurrency, 1),
          .ordered = traits.ordered,
          .keep_capacity = usual,
          .host = &host};
}

}  // namespace

Result<std::unique_ptr<SinkPool>> SinkPool::open(Options options) {
  const std::string name = sink_component(options.name);
  Sink& sink = *options.sink;
  Clock& clock = *options.context.clock;
  const SinkTraits traits = sink.traits();
  const SealPolicy policy = sink.seal_policy();
  std::shared_ptr<Spool> spool;
  if (policy.open_bytes != 0 && !policy.spool_dir.empty()) {
    MILLRACE_ASSIGN(spool, Spool::open(policy.spool_dir, policy.spool_limit));
  }
  MILLRACE_TRY(guarded(name + ": open", [&] { return sink.open(options.context); }));
  auto shared = std::make_shared<SinkShared>(name, options.sink, queue_options(traits, policy, *options.host),
                                             options.budget, clock);
  shared->random = options.context.random;
  shared->board = options.board;
  shared->log = options.context.log;
  MILLRACE_ASSIGN(shared->metrics, SinkMetrics::make(options.context.meter, options.budget->limit()));
  std::vector<std::shared_ptr<Writer>> writers;
  for (std::size_t i = 0; i < std::max<std::size_t>(traits.concurrency, 1); ++i) {
    MILLRACE_ASSIGN(std::unique_ptr<Writer> writer,
                    guarded(name + ": make_writer", [&] { return sink.make_writer(); }));
    if (!writer) return fail(Error::fatal(ErrorCode::user_code, name + ": make_writer returned no writer"));
    writers.push_back(std::move(writer));
  }
  LaneSink::Options lane_options;
  if (policy.open_bytes != 0) {
    lane_options.budget = std::make_shared<OpenBudget>(policy.open_bytes, std::move(spool));
  }
  lane_options.log = shared->log;
  // A replay may tell a fault in other words.
  lane_options.named_by_content = shared->holds_letters();
  lane_options.policy = policy;
  lane_options.recalls = traits.recalls;
  lane_options.envelope = sink.envelope();
  lane_options.framed = sink.encode_spec().format == EncodeFormat::framed;
  lane_options.route = sink.route_spec();
  lane_options.clock = &clock;
  return std::unique_ptr<SinkPool>(new SinkPool(std::move(options.name), std::move(shared), std::move(writers),
                                                std::move(lane_options), traits.writes_time_out, *options.host));
}

SinkPool::SinkPool(std::string name, std::shared_ptr<SinkShared> shared, std::vector<std::shared_ptr<Writer>> writers,
                   LaneSink::Options lane_options, bool writes_time_out, ThreadHost& host)
    : name_(std::move(name)),
      shared_(std::move(shared)),
      writers_(std::move(writers)),
      lane_options_(std::move(lane_options)),
      writes_time_out_(writes_time_out),
      host_(&host) {}

SinkPool::~SinkPool() {
  if (!closed_) std::ignore = close(shared_->clock->now());
}

void SinkPool::give_up_to(std::shared_ptr<LostBatches> place) { shared_->lost = std::move(place); }

std::shared_ptr<LostBatches> SinkPool::make_lost_batches() {
  return std::make_shared<LostBatches>(LostBatches::Options{.keep_alive = shared_,
                                                            .queue = &shared_->queue,
                                                            .gate = &shared_->gate,
                                                            .ends = lane_options_,
                                                            .spec = encode_spec(),
                                                            .clock = shared_->clock});
}

void SinkPool::start() {
  for (std::size_t i = 0; i < writers_.size(); ++i) {
    auto loop = std::make_shared<SinkLoop>(shared_, writers_[i], i);
    workers_.emplace_back(*host_, fmt::format("mr-sink-{}", i), [loop] { loop->run(); });
  }
}

std::size_t SinkPool::join_workers(SteadyTime deadline) {
  std::erase_if(workers_, [&](AbandonableThread& worker) { return worker.join_until(*shared_->clock, deadline); });
  return workers_.size();
}

Result<void> SinkPool::close(SteadyTime deadline) {
  closed_ = true;
  shared_->gate.begin_drain(deadline);
  shared_->gate.give_up();
  if (workers_.empty()) {  // never started: the writers are closed from here
    for (const auto& writer : writers_) {
      shared_->note_close(guarded(shared_->name + ": closing its writer", [&] { return writer->close(deadline); }));
    }
  }
  shared_->queue.close();
  shared_->board->batches_abandoned.fetch_add(shared_->queue.discard(), memory_order_relaxed);
  if (join_workers(deadline) != 0) {
    for (const auto& writer : writers_) std::ignore = guarded_call(shared_->name, [&] { writer->cancel(); });
    if (join_workers(std::max(deadline, shared_->clock->now()) + kCancelGrace) != 0) return leave_workers_behind();
  }
  if (auto error = shared_->close_error()) return fail(std::move(*error).prefixed(shared_->name + ": "));
  return guarded(shared_->name + ": close", [&] { return shared_->sink->close(); });
}

// The sink stays open, since a writer still uses it; what they share lives until they return.
Result<void> SinkPool::leave_workers_behind() {
  const std::size_t left = workers_.size();
  for (AbandonableThread& worker : workers_) worker.abandon();
  workers_.clear();
  shared_->metrics.drain_overruns.add(left);
  return fail(
      Error::fatal(ErrorCode::deadline,
                   fmt::format("{}: {} of its writers did not return by the drain deadline and were left behind; "
                               "what they were writing is read again by the next run",
                               shared_->name, left)));
}

}  // namespace millrace
