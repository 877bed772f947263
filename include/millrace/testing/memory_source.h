// SPDX-License-Identifier: Apache-2.0
// MemorySource: a whole source over a MemoryTopic, for tests of pipelines, chains and sinks. Its lanes lend memory that
// is poisoned (ASan) or overwritten as soon as the next poll begins, so that a record that outlives its poll is seen.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "millrace/source/source.h"
#include "millrace/testing/memory_topic.h"

#pragma GCC visibility push(default)
namespace millrace::testing {

class MemorySource;

/// What a MemorySource does, beside giving its lanes, and what was done to it. Kept by the test, as a run destroys its
/// source. Thread-safe.
class MemoryScript {
 public:
  using Step = std::function<Result<SourceEvent>(MemorySource&)>;
  /// What the next poll_events that finds no earlier step answers.
  void then(Step step);
  /// Assigns these partitions, from where they were committed, as lanes of the same numbers.
  static Step assign(std::vector<PartitionId> partitions);
  static Step revoke(std::vector<LaneId> lanes);
  /// As a client library that calls back from inside its poll: begins the revocation itself, waits on the barrier,
  /// makes its own last commit, then says so.
  static Step revoke_inside(std::vector<LaneId> lanes);

  struct Seen {
    std::vector<LaneId> paused, resumed, revoked;
    std::vector<PartitionWatermark> barrier;  ///< what the last revoke_inside got from its barrier
    bool opened = false;
    bool closed = false;
    std::size_t event_polls = 0;
  };
  [[nodiscard]] Seen seen() const;
  /// Waits (in real time) until `condition` holds, for at most a minute; false when it never did.
  [[nodiscard]] bool wait_until(const std::function<bool(const Seen&)>& condition) const;

 private:
  friend class MemorySource;
  [[nodiscard]] std::optional<Step> next();
  void note(const std::function<void(Seen&)>& change);

  mutable Mutex mutex_;
  mutable CondVar changed_;
  std::deque<Step> steps_ MILLRACE_GUARDED_BY(mutex_);
  Seen seen_ MILLRACE_GUARDED_BY(mutex_);
  Waker control_ MILLRACE_GUARDED_BY(mutex_);
};

struct MemorySourceOptions {
  bool wakers = true;             ///< lanes take a waker; otherwise they wait in their polls
  std::size_t batch_records = 0;  ///< payloads of one batch at most; 0: as many as asked for
  bool bounded = true;            ///< Finished follows when the script is through
  bool assign_all = true;         ///< the first event assigns every partition
  bool keeps_account = false;     ///< as Source says; it gives no receipt
  std::string replay_gap;         ///< what Source::replay_gap says; the topic itself always gives the same again
  std::shared_ptr<MemoryScript> script = std::make_shared<MemoryScript>();
};

class MemorySource final : public Source {
 public:
  MemorySource(std::shared_ptr<MemoryTopic> topic, MemorySourceOptions options);
  static Result<std::unique_ptr<Source>> make(std::shared_ptr<MemoryTopic> topic, MemorySourceOptions options = {}) {
    return std::make_unique<MemorySource>(std::move(topic), std::move(options));
  }

  // For steps of a script.
  [[nodiscard]] std::unique_ptr<SourceLane> make_lane(LaneId lane, PartitionId partition);
  [[nodiscard]] const SourceContext& context() const noexcept { return context_; }
  [[nodiscard]] MemoryScript& script() noexcept { return *options_.script; }
  [[nodiscard]] MemoryTopic& topic() noexcept { return *topic_; }

  [[nodiscard]] Result<void> open(SourceContext context) override;
  [[nodiscard]] Result<SourceEvent> poll_events(Duration timeout) override;
  [[nodiscard]] Result<void> commit(std::span<const PartitionWatermark> watermarks) override;
  [[nodiscard]] Result<void> flush_commits() override { return topic_->flush(); }
  void pause(std::span<const LaneId> lanes) override;
  void resume(std::span<const LaneId> lanes) override;
  void revoked(std::span<const LaneId> lanes) override;
  void close() override;
  [[nodiscard]] bool keeps_account() const override { return options_.keeps_account; }
  [[nodiscard]] std::string replay_gap() const override { return options_.replay_gap; }
  [[nodiscard]] bool bounded() const override { return options_.bounded; }

 private:
  const std::shared_ptr<MemoryTopic> topic_;
  const MemorySourceOptions options_;
  SourceContext context_;
  bool assigned_ = false;
};

}  // namespace millrace::testing
#pragma GCC visibility pop
