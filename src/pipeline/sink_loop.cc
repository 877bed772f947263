// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sink_loop.h"

#include <fmt/format.h>

#include <utility>

#include "millrace/record/record_place.h"
#include "pipeline/metric_buckets.h"
#include "pipeline/user_code_adapter.h"

namespace millrace {
namespace {

// Counts a write as "being retried" from its first failure until it ends: a watermark that waits for it is not stalled.
class RetryMark {
 public:
  explicit RetryMark(SinkShared& shared) : shared_(&shared) {}
  RetryMark(const RetryMark&) = delete;
  RetryMark& operator=(const RetryMark&) = delete;
  ~RetryMark() {
    if (!marked_) return;
    RunBoard& board = *shared_->board;
    if (board.retrying.fetch_sub(1, memory_order_acq_rel) == 1) board.set_write_error("");
    const Duration failed = shared_->end_retries();
    if (succeeded_ && failed >= kTellAgain) {
      shared_->log.info("the sink takes writes again",
                        {{"sink", shared_->name}, {"failed_for", fmt::format("{:.0f}s", seconds(failed))}});
    }
  }
  void succeeded() { succeeded_ = true; }
  /// `since`: when its first try began.
  void note(std::string text, SteadyTime since) {
    RunBoard& board = *shared_->board;
    if (!std::exchange(marked_, true)) {
      board.retrying.fetch_add(1, memory_order_acq_rel);
      shared_->begin_retries(since);
    }
    board.set_write_error(std::move(text));
  }

 private:
  SinkShared* shared_;
  bool marked_ = false;
  bool succeeded_ = false;
};

std::string describe(const SealedBatch& batch) {
  return fmt::format("offsets {} to {} of {}", batch.chunk.first_offset.value(), batch.chunk.last_offset.value(),
                     partition_place(batch.chunk.partition, batch.chunk.origin.get()));
}

}  // namespace

void SinkShared::begin_retries(SteadyTime since) {
  const MutexLock lock(mutex_);
  if (retrying_++ == 0) failing_since_ = since;
}

Duration SinkShared::end_retries() {
  const MutexLock lock(mutex_);
  if (--retrying_ != 0) return Duration::zero();
  warned_.reset();
  return clock->now() - failing_since_;
}

SinkShared::Failing SinkShared::note_failure(ErrorCode kind) {
  const MutexLock lock(mutex_);
  const SteadyTime now = clock->now();
  const auto bit = static_cast<std::size_t>(kind);
  const bool told = !warned_.test(bit) || now - told_ >= kTellAgain;
  warned_.set(bit);
  if (told) told_ = now;
  return {.lasts = now - failing_since_, .told = told};
}

void SinkShared::note_close(Result<void> closed) {
  if (closed) return;
  const MutexLock lock(mutex_);
  if (!close_error_) close_error_ = std::move(closed).error();
}

std::optional<Error> SinkShared::close_error() const {
  const MutexLock lock(mutex_);
  return close_error_;
}

void SinkLoop::run() {
  while (std::optional<SinkQueue::Taken> taken = shared_->queue.take(index_)) {
    if (taken->question) {
      answer(*taken->question);
    } else {
      write_and_settle(std::move(*taken));
    }
  }
  shared_->note_close(
      guarded(shared_->name + ": closing its writer", [this] { return writer_->close(shared_->gate.deadline()); }));
}

void SinkLoop::write_and_settle(SinkQueue::Taken taken) {
  SealedBatch& batch = taken.batch;
  // The writer never sees the acks: only a success it returned can deliver them.
  AckSet acks = std::move(batch.chunk.acks);
  if (failed_.contains(taken.partition) || shared_->gate.given_up()) {
    abandon(std::move(taken), std::move(acks));
    return;
  }
  shared_->metrics.inflight_batches.add(1);
  Result<Receipt> written = write(batch);
  shared_->metrics.inflight_batches.add(-1);
  settle(std::move(taken), std::move(acks), written);
}

// A lane waits for the answer before its first record; without one it never begins.
void SinkLoop::answer(RecallRequest& question) {
  const auto once = [&] {
    return guarded(shared_->name,
                   [&] { return writer_->recall(question.partition, question.from, question.origin.get()); });
  };
  Result<Recall> recalled = try_until_done<Recall>("asking what is written", once);
  if (recalled) {
    question.answer(*std::move(recalled));
    return;
  }
  if (too_late()) return;  // the lane is told to stop, and waits no more
  shared_->board->report(shared_->name, std::move(recalled).error().prefixed(
                                            fmt::format("asking what is written of {} already: ",
                                                        partition_place(question.partition, question.origin.get()))));
}

Result<Receipt> SinkLoop::write(SealedBatch& batch) {
  return try_until_done<Receipt>("a write", [&] { return try_once(batch); });
}

// One burst of tries, or tries without end: the policy decides.
template <class T, class TryOnce>
Result<T> SinkLoop::try_until_done(std::string_view what, TryOnce try_once) {
  const RetryPolicy& policy = shared_->retry;
  Backoff backoff(policy.backoff, *shared_->random);
  RetryMark mark(*shared_);
  const SteadyTime begun = shared_->clock->now();
  for (int tries = 1;; ++tries) {
    shared_->writing.fetch_add(1, memory_order_relaxed);
    Result<T> done = try_once();
    shared_->writing.fetch_sub(1, memory_order_relaxed);
    if (done) mark.succeeded();
    if (done || !done.error().is_retryable()) return done;
    const bool ends = policy.on_failure != OnWriteFailure::stall;
    if (ends && tries >= policy.max_attempts) {
      return fail(std::move(done).error().prefixed(fmt::format("given up after {} tries: ", tries)));
    }
    const Duration delay = backoff.next(done.error().retry_after());
    const Duration took = shared_->clock->now() - begun;
    if (ends && policy.deadline > Duration::zero() && took + delay > policy.deadline) {
      return fail(std::move(done).error().prefixed(
          fmt::format("given up after {} tries in {:.1f} s, as the next one would begin in {:.1f} s: ", tries,
                      seconds(took), seconds(delay))));
    }
    mark.note(done.error().describe(), begun);
    if (!wait_for_next_try(what, tries, delay, done.error())) {
      return fail(
          Error::fatal(ErrorCode::deadline, fmt::format("{} was not done by the drain deadline after {} tries: {}",
                                                        what, tries, done.error().describe())));
    }
  }
}

Result<Receipt> SinkLoop::try_once(SealedBatch& batch) {
  const SteadyTime begun = shared_->clock->now();
  Result<Receipt> written = guarded(shared_->name, [&] { return writer_->write(batch); });
  const double took = seconds(shared_->clock->now() - begun);
  SinkMetrics& metrics = shared_->metrics;
  if (written) {
    metrics.write_ok_seconds.observe(took);
  } else {
    metrics.write_error_seconds.observe(took);
    metrics.errors.at(static_cast<std::size_t>(written.error().error_class())).add();
  }
  return written;
}

bool SinkLoop::wait_for_next_try(std::string_view what, int tries, Duration delay, const Error& error) {
  shared_->metrics.backoff_seconds.observe(seconds(delay));
  const SinkShared::Failing failing = shared_->note_failure(error.code());
  shared_->log.log(failing.told ? LogLevel::warn : LogLevel::debug, fmt::format("{} failed and is tried again", what),
                   {{"sink", shared_->name},
                    {"try", std::to_string(tries)},
                    {"failing_for", fmt::format("{:.0f}s", seconds(failing.lasts))},
                    {"wait", fmt::format("{:.3f}s", seconds(delay))},
                    {"error", error.describe()}});
  if (!shared_->gate.wait(delay, error.retry_after().has_value())) return false;
  shared_->board->write_retries.fetch_add(1, memory_order_relaxed);
  shared_->metrics.retries.add();
  return true;
}

// The run is ending and its time is up: what fails now says nothing about the sink.
bool SinkLoop::too_late() const {
  return shared_->gate.given_up() || shared_->clock->now() >= shared_->gate.deadline();
}

// `drop` is the operator's word on what the outside refuses, not on mistakes in code.
bool SinkLoop::drops(const Error& error) const {
  return shared_->retry.on_failure == OnWriteFailure::drop && error.code() != ErrorCode::user_code && !too_late();
}

void SinkLoop::settle(SinkQueue::Taken taken, AckSet acks, const Result<Receipt>& written) {
  SinkMetrics& metrics = shared_->metrics;
  metrics.flush_seconds.observe(seconds(shared_->clock->now() - taken.batch.sealed));
  metrics.flushes.at(static_cast<std::size_t>(taken.batch.reason)).add();
  if (written) {
    deliver(std::move(taken), std::move(acks), *written);
  } else if (drops(written.error())) {
    drop(std::move(taken), std::move(acks), written.error());
  } else {
    // The cause is posted before the acks fail, so that control knows it when it sees them.
    // Nobody takes anything any more: which batch was the first to find out says nothing.
    const bool gone = written.error().code() == ErrorCode::closed;
    Error cause =
        gone ? Error(written.error()) : Error(written.error()).prefixed("writing " + describe(taken.batch) + ": ");
    give_up_on(taken.partition, std::move(cause));
    abandon(std::move(taken), std::move(acks));
  }
}

// Nothing behind it is written any more, in time or not: a sink that writes exactly once takes what lies before a
// durable batch for durable.
void SinkLoop::give_up_on(PartitionId partition, Error cause) {
  const bool first = failed_.insert(partition).second;
  if (too_late()) {
    shared_->board->set_unwritten(cause.describe());
  } else if (first) {
    shared_->board->report(shared_->name, std::move(cause));
  }
}

// Before the acks are let go: what the watermark passes has been told.
void SinkLoop::note_landing(const EncodedChunk& chunk, std::string location, bool dropped) {
  if (const auto& ledger = shared_->board->ledger()) {
    ledger->land(chunk.partition, {.first = chunk.first_offset,
                                   .last = chunk.last_offset,
                                   .records = chunk.records,
                                   .sink = shared_->name,
                                   .location = std::move(location),
                                   .dropped = dropped});
  }
}

void SinkLoop::deliver(SinkQueue::Taken taken, AckSet acks, const Receipt& receipt) {
  RunBoard& board = *shared_->board;
  SinkMetrics& metrics = shared_->metrics;
  const EncodedChunk& chunk = taken.batch.chunk;
  metrics.records.add(chunk.records);
  metrics.bytes.add(receipt.bytes_written);
  metrics.batch_records.observe(static_cast<double>(chunk.records));
  metrics.batch_bytes.observe(static_cast<double>(taken.batch.size()));
  metrics.latency_seconds.observe(seconds(shared_->clock->now() - chunk.opened));
  RunBoard::Count& written = shared_->holds_letters() ? board.letters_written : board.records_written;
  written.fetch_add(chunk.records, memory_order_relaxed);
  board.bytes_written.fetch_add(receipt.bytes_written, memory_order_relaxed);
  board.batches_written.fetch_add(1, memory_order_relaxed);
  note_landing(chunk, receipt.location, false);
  acks.deliver();
  finish(std::move(taken));
}

void SinkLoop::drop(SinkQueue::Taken taken, AckSet acks, const Error& error) {
  note_landing(taken.batch.chunk, "", true);
  // The position waits for the note as well: a kill in between must not leave it out.
  const AckRef until_marked = acks.empty() ? AckRef() : *acks.oldest();
  if (shared_->lost) {
    // The acks go with the letter: the position waits until it is durable.
    if (!as_giver_) as_giver_ = shared_->lost->new_worker();
    auto kept = shared_->lost->keep(*as_giver_, taken.batch, acks, error, shared_->name, shared_->gate);
    if (!kept) {
      give_up_on(taken.partition,
                 std::move(kept).error().prefixed("keeping " + describe(taken.batch) + " as a dead letter: "));
      return abandon(std::move(taken), std::move(acks));
    }
  }
  // Nothing is called given up that may still be written.
  shared_->log.error(shared_->lost ? "a batch was given up, as it is told to, and becomes a dead letter"
                                   : "a batch was given up, as it is told to, and is kept nowhere",
                     {{"sink", shared_->name}, {"batch", describe(taken.batch)}, {"error", error.describe()}});
  shared_->metrics.dropped.add();
  RunBoard::Count& records = shared_->lost ? shared_->board->records_given_up : shared_->board->records_dropped;
  records.fetch_add(taken.batch.chunk.records, memory_order_relaxed);
  shared_->board->batches_dropped.fetch_add(1, memory_order_relaxed);
  mark_lost(taken.batch, error);
  acks.deliver();
  finish(std::move(taken));
}

// One burst of tries: a note that cannot be left is no reason to lose more.
void SinkLoop::mark_lost(SealedBatch& batch, const Error& error) {
  const auto once = [&] { return guarded(shared_->name, [&] { return writer_->lost(batch, error); }); };
  if (auto marked = try_until_done<void>("leaving a note", once); !marked) {
    shared_->log.warn("of a batch that was dropped no note could be left where it would be",
                      {{"sink", shared_->name}, {"batch", describe(batch)}, {"error", marked.error().describe()}});
  }
}

void SinkLoop::abandon(SinkQueue::Taken taken, AckSet acks) {
  shared_->metrics.abandoned.add();
  shared_->board->batches_abandoned.fetch_add(1, memory_order_relaxed);
  acks.fail();
  finish(std::move(taken));
}

void SinkLoop::finish(SinkQueue::Taken taken) {
  shared_->queue.finish(std::move(taken));
  shared_->board->wake_control();
}

}  // namespace millrace
