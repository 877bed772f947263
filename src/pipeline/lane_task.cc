// SPDX-License-Identifier: Apache-2.0
#include "pipeline/lane_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "pipeline/metric_buckets.h"
#include "pipeline/user_code_adapter.h"

namespace millrace {
namespace {

// Whoever was nearer may have said it already.
void add(Error& error, std::string_view key, std::string value) {
  const auto known = [key](const auto& entry) { return entry.first == key; };
  if (std::ranges::none_of(error.context(), known)) error.with(std::string(key), std::move(value));
}

}  // namespace

LaneTask::LaneTask(Options options)
    : options_(std::move(options)),
      rules_(options_.status->id, options_.status->partition),
      name_(fmt::format("lane {}", options_.status->id.value())),
      lane_code_("the source's " + name_),
      chain_code_("the chain of " + name_) {}

LaneTask::~LaneTask() { abandon(); }

LaneTask::Step LaneTask::step(Duration timeout) {
  may_poll_ = false;
  if (end_) stop_asking();
  if (!offer()) return Step::waiting;  // parked: INV-4
  if (batch_) return run_chain();
  if (end_) {
    wind_up();
    return Step::waiting;
  }
  may_poll_ = ready_to_poll();
  return may_poll_ ? poll(options_.has_waker ? Duration::zero() : timeout) : Step::waiting;
}

bool LaneTask::ready_to_poll() {
  if (failed_ || status().paused.load(memory_order_seq_cst)) return false;
  const PartitionId partition = status().partition;
  const auto full = [&] { return options_.issuer.pending(partition) >= options_.max_pending_batches; };
  if (!full()) return true;
  // Said first and looked at again after, so that the control thread either sees it or has moved the watermark before.
  const bool said = status().at_limit.exchange(true, memory_order_acq_rel);
  if (!full()) return true;
  if (!said) options_.board->wake_control();
  return !seal_what_holds_the_watermark();
}

// A lane at its limit whose oldest batch lies in a chunk of its own would wait for itself. False when that chunk may
// not end yet, so that more must come first.
bool LaneTask::seal_what_holds_the_watermark() {
  const BatchSeq next = options_.issuer.next_to_settle(status().partition);
  const auto holds = [next](const LaneSink& sink) {
    const AckRef* oldest = sink.oldest_open();
    return oldest != nullptr && oldest->seq() == next;
  };
  bool sealed = true;
  for (const auto& [name, sink] : options_.outputs->all()) {
    if (!holds(*sink)) continue;
    sink->seal(SealReason::pressure);
    if (holds(*sink)) sealed = false;
  }
  const bool clear = offer();
  post_open();
  return sealed || !clear;
}

LaneTask::Step LaneTask::poll(Duration timeout) {
  const SteadyTime begun = options_.clock->now();
  auto polled = guarded(lane_code_, [&] { return options_.lane->poll(options_.max_poll_records, timeout); });
  const Duration took = options_.clock->now() - begun;
  options_.metrics->poll_seconds.observe(seconds(took));
  if (!polled) {
    fail_lane(std::move(polled).error());
    return Step::produced;
  }
  status().idle.store(std::holds_alternative<Idle>(*polled), memory_order_relaxed);
  if (auto* batch = std::get_if<PayloadBatch>(&*polled)) return take(std::move(*batch));
  if (std::holds_alternative<Exhausted>(*polled)) {
    if (!end_) end_ = End{LanePhase::exhausted, SealReason::lane_end};
    wind_up();
    return Step::produced;
  }
  if (timeout > Duration::zero() && rules_.spins(took, timeout)) {
    options_.board->log().warn(
        "a lane breaks a rule of sources: a poll without a waker waits for its timeout before it "
        "answers Idle; its thread paces it from now on",
        {{"lane", std::to_string(status().id.value())}, {"rule", "idle lanes wait"}});
  }
  return Step::idle;
}

LaneTask::Step LaneTask::take(PayloadBatch batch) {
  if (status().removed.load(memory_order_acquire)) {
    // Its ack may have been issued under an epoch that it has no part in: failed, it can move no watermark.
    batch.ack.fail();
    return Step::waiting;
  }
  if (auto broken = rules_.check(batch)) {
    AckRef ack = std::move(batch.ack);
    fail_lane(std::move(*broken));
    ack.fail();
    return Step::produced;
  }
  if (batch.payloads.size() > options_.max_poll_records && !std::exchange(warned_of_size_, true)) {
    options_.board->log().warn("a lane breaks a rule of sources: a poll returns at most as many payloads as asked for",
                               {{"lane", std::to_string(status().id.value())},
                                {"asked", std::to_string(options_.max_poll_records)},
                                {"returned", std::to_string(batch.payloads.size())}});
  }
  ack_ = std::move(batch.ack);
  batch_ = std::move(batch);
  cursor_ = 0;
  if (batch_->payloads.empty()) {
    finish_batch();
    return Step::produced;
  }
  return run_chain();
}

LaneTask::Step LaneTask::run_chain() {
  counts_.records_in = counts_.records_decoded = counts_.records_out = counts_.filtered = counts_.payload_bytes = 0;
  counts_.skipped.clear();
  counts_.dead_lettered.clear();
  counts_.fallbacks.clear();
  const SteadyTime begun = options_.clock->now();
  Result<ChainStep> ran = guarded(chain_code_, [&]() -> Result<ChainStep> {
    return options_.chain->run(*batch_, cursor_, ack_, options_.issuer, counts_);
  });
  options_.board->add(counts_);
  options_.metrics->add(counts_, options_.clock->now() - begun);
  if (!ran) {
    fail_batch(cursor_, std::move(ran).error());
  } else if (ran->error) {
    if (!set_aside(ran->next, *ran->error)) fail_batch(ran->next, std::move(*ran->error));
  } else if (ran->next >= batch_->payloads.size()) {
    finish_batch();
  } else if (ran->next == cursor_ && !options_.outputs->blocked()) {
    fail_batch(cursor_, Error::fatal(ErrorCode::internal, "the chain took no record although no sink is full"));
  } else {
    cursor_ = ran->next;
  }
  count_left_out();
  status().parked_records.store(batch_ ? batch_->payloads.size() - cursor_ : 0, memory_order_relaxed);
  offer();
  post_open();
  return Step::produced;
}

void LaneTask::finish_batch() {
  ack_.reset();
  batch_.reset();
}

// What the lane has set aside is settled: nobody will deliver it. The records before it are not, until they are
// written.
bool LaneTask::set_aside(std::size_t failed_at, const Error& error) {
  if (status().removed.load(memory_order_acquire)) return false;
  const Result<bool> aside =
      guarded(lane_code_, [&]() -> Result<bool> { return options_.lane->set_aside(batch_->offset(failed_at), error); });
  if (!aside) {
    // What the object was to be set aside for is not lost over it.
    fail_batch(failed_at, Error(aside.error()).with("refused", error.describe()));
    return true;
  }
  if (!*aside) return false;
  keep_before(failed_at).reset();
  finish_batch();
  return true;
}

// The records before the failing one keep their ack, so that the watermark can come to rest right before it; the rest's
// is handed out.
AckRef LaneTask::keep_before(std::size_t failed_at) {
  if (failed_at == 0 || !ack_) return std::move(ack_);
  return options_.issuer.split(ack_, batch_->offset(failed_at - 1));
}

void LaneTask::fail_batch(std::size_t failed_at, Error error) {
  add(error, "offset", std::to_string(batch_->offset(failed_at).value()));
  if (batch_->origin && !batch_->origin->object.empty()) add(error, "object", batch_->origin->object);
  if (batch_->origin && batch_->origin->partition) {
    add(error, "topic", batch_->origin->topic);
    add(error, "partition", std::to_string(batch_->origin->partition->value()));
  }
  fail_lane(std::move(error));
  keep_before(failed_at).fail();
  finish_batch();
}

void LaneTask::fail_lane(Error error) {
  failed_ = true;
  if (status().removed.load(memory_order_acquire)) return;
  add(error, "lane", std::to_string(status().id.value()));
  add(error, "partition", std::to_string(status().partition.value()));
  options_.board->report(name_, std::move(error));
  if (!end_) set_phase(LanePhase::failed);
}

void LaneTask::stop() {
  if (!end_) end_ = End{LanePhase::drained, SealReason::drain};
}

void LaneTask::wind_up() {
  if (end_->posted) return;
  if (!std::exchange(end_->sealed, true)) seal_all(end_->reason);
  count_left_out();
  post_open();
  if (!offer()) return;
  end_->posted = true;
  set_phase(end_->phase);
}

// What it holds was not handed over, so it fails.
void LaneTask::abandon() {
  ack_.fail();
  finish_batch();
  for (const auto& [name, sink] : options_.outputs->all()) {
    options_.board->records_revoked.fetch_add(sink->abandon(), memory_order_relaxed);
  }
  status().blocked_since.store(LaneStatus::kNotBlocked, memory_order_seq_cst);
  status().parked_records.store(0, memory_order_relaxed);
  post_open();
}

SteadyTime LaneTask::tick(SteadyTime now) {
  SteadyTime next = SteadyTime::max();
  for (const auto& [name, sink] : options_.outputs->all()) {
    next = std::min(next, sink->tick(now));
  }
  offer();
  post_open();
  return next;
}

// Offers what is sealed and posts whether the lane is blocked. True when nothing is left.
bool LaneTask::offer() {
  bool clear = true;
  for (const auto& [name, sink] : options_.outputs->all()) clear = sink->offer() && clear;
  LaneStatus& posted = status();
  if (clear == !posted.blocked()) return clear;
  posted.blocked_since.store(clear ? LaneStatus::kNotBlocked : options_.clock->now().time_since_epoch().count(),
                             memory_order_seq_cst);
  // A paused source has to be resumed before the lane is polled again; see BackPressure.
  if (clear && posted.paused.load(memory_order_seq_cst)) options_.board->wake_control();
  return clear;
}

// A sink that has not said what it holds has taken nothing: the batch that waits for it is read again by the next run.
void LaneTask::stop_asking() {
  bool asked = false;
  for (const auto& [name, sink] : options_.outputs->all()) asked = sink->stop_asking() || asked;
  if (!asked || !batch_) return;
  ack_.put_off();
  finish_batch();
  status().parked_records.store(0, memory_order_relaxed);
}

// Encoded, and yet in no batch.
void LaneTask::count_left_out() {
  for (const auto& [name, sink] : options_.outputs->all()) {
    if (const std::uint64_t recalled = sink->take_recalled(); recalled != 0)
      options_.board->records_recalled.fetch_add(recalled, memory_order_relaxed);
    if (const std::uint64_t put_off = sink->take_put_off(); put_off != 0)
      options_.board->records_put_off.fetch_add(put_off, memory_order_relaxed);
  }
}

void LaneTask::seal_all(SealReason reason) {
  for (const auto& [name, sink] : options_.outputs->all()) sink->seal(reason);
}

void LaneTask::post_open() {
  std::uint64_t oldest = LaneStatus::kNothingOpen;
  for (const auto& [name, sink] : options_.outputs->all()) {
    if (const AckRef* ack = sink->oldest_open()) oldest = std::min(oldest, ack->seq().value());
  }
  status().oldest_open.store(oldest, memory_order_relaxed);
}

void LaneTask::set_phase(LanePhase phase) {
  status().phase.store(phase, memory_order_release);
  options_.board->wake_control();
}

}  // namespace millrace
