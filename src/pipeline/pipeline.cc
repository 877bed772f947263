// SPDX-License-Identifier: Apache-2.0
#include "millrace/pipeline/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "millrace/pipeline/exactly_once.h"
#include "pipeline/control_loop.h"
#include "pipeline/run_view.h"
#include "pipeline/sink_loop.h"
#include "pipeline/user_code_adapter.h"

namespace millrace {
namespace {

constexpr Duration kShortestInterval = std::chrono::milliseconds(100);

Result<void> check(const PipelineOptions& options) {
  const auto must = [](std::string_view key, std::string_view rule) {
    return fail(Error::config(fmt::format("{} must be {}", key, rule)));
  };
  if (options.name.empty()) return must("pipeline.name", "not empty");
  if (options.max_inflight_bytes == 0) return must("pipeline.max_inflight_bytes", "above 0");
  if (options.drain_timeout < Duration::zero()) return must("pipeline.drain_timeout", "0 or more");
  if (options.max_poll_records == 0) return must("pipeline.max_poll_records", "at least 1");
  if (options.poll_timeout <= Duration::zero()) return must("pipeline.poll_timeout", "above 0");
  if (options.checkpoint_interval < kShortestInterval) return must("checkpoint.interval", "at least 100ms");
  if (options.max_pending_batches == 0) return must("checkpoint.max_pending_batches", "at least 1");
  if (options.stalled_fail_after < Duration::zero()) return must("checkpoint.stalled_fail_after", "0 or more");
  return {};
}

}  // namespace

struct Pipeline::State {
  PipelineOptions options;
  std::vector<std::pair<std::string, std::shared_ptr<Sink>>> sinks;
  std::optional<Error> assembly_error;
  ChainFactory chain;
  std::shared_ptr<MetricRegistry> metrics;
  Logger log;
  Clock* clock = &Clock::real();
  ThreadHost* host = &ThreadHost::real();
  Random* random = &Random::system();
  StopHandle stop;
  bool ran = false;
  std::shared_ptr<RunView> view = std::make_shared<RunView>();
  /// Set once, before the first thread of the run starts.
  mutable Mutex board_mutex;
  std::shared_ptr<RunBoard> board MILLRACE_GUARDED_BY(board_mutex);

  Result<void> check_assembly() const;
  Result<void> check_replays(const Source& source) const;
  Result<void> open_sinks(const SinkContext& context, const Meter& meter, ControlLoop::Options& parts);
  Result<std::unique_ptr<ControlLoop>> build(std::shared_ptr<Source> source, const Meter& meter);
  Result<std::unique_ptr<ControlLoop>> start(std::shared_ptr<Source> source);
  Result<void> run(Result<std::unique_ptr<Source>> made, RunReport& report);
  void lend_source(Source* source);
  void fill_counts(RunReport& report) const;
};

Pipeline::Pipeline(PipelineOptions options) : state_(std::make_unique<State>()) {
  state_->options = std::move(options);
}
Pipeline::Pipeline(Pipeline&&) noexcept = default;
Pipeline& Pipeline::operator=(Pipeline&&) noexcept = default;
Pipeline::~Pipeline() = default;

Pipeline& Pipeline::sink(std::string name, Result<std::unique_ptr<Sink>> sink) {
  if (name == kDeadLetterSink) {
    sink = fail(Error::config(
        fmt::format("no sink may have the name '{}', which is that of the letters' place: add that with dead_letter()",
                    kDeadLetterSink)));
  }
  return add_sink(std::move(name), std::move(sink));
}

Pipeline& Pipeline::dead_letter(Result<std::unique_ptr<Sink>> sink) {
  return add_sink(std::string(kDeadLetterSink), std::move(sink));
}

Pipeline& Pipeline::add_sink(std::string name, Result<std::unique_ptr<Sink>> sink) {
  auto& error = state_->assembly_error;
  if (!sink) {
    if (!error) error = std::move(sink).error();
  } else if (std::ranges::any_of(state_->sinks, [&](const auto& known) { return known.first == name; })) {
    if (!error) {
      error =
          Error::config(name == kDeadLetterSink ? "dead letters have two places; call dead_letter() once"
                                                : fmt::format("two sinks have the name '{}'; give each its own", name));
    }
  } else {
    state_->sinks.emplace_back(std::move(name), *std::move(sink));
  }
  return *this;
}

Pipeline& Pipeline::chain_factory(ChainFactory factory) {
  state_->chain = std::move(factory);
  return *this;
}
Pipeline& Pipeline::metrics(std::shared_ptr<MetricRegistry> registry) {
  state_->metrics = std::move(registry);
  return *this;
}
Pipeline& Pipeline::log(Logger log) {
  state_->log = std::move(log);
  return *this;
}
Pipeline& Pipeline::clock(Clock& clock) {
  state_->clock = &clock;
  return *this;
}
Pipeline& Pipeline::random(Random& random) {
  state_->random = &random;
  return *this;
}
Pipeline& Pipeline::threads(ThreadHost& host) {
  state_->host = &host;
  return *this;
}
StopHandle Pipeline::stop_handle() const { return state_->stop; }

Result<void> Pipeline::State::check_assembly() const {
  if (ran) return fail(Error::fatal(ErrorCode::usage, "a pipeline runs once; build another for another run"));
  if (assembly_error) return fail(*assembly_error);
  MILLRACE_TRY(check(options));
  const auto letters = std::ranges::find(sinks, kDeadLetterSink, &decltype(sinks)::value_type::first);
  if (sinks.size() == (letters == sinks.end() ? 0U : 1U))
    return fail(Error::config("the pipeline has no sink; add one with sink()"));
  if (letters != sinks.end() && letters->second->retry_policy().on_failure == OnWriteFailure::drop) {
    return fail(
        Error::config("the sink of the dead letters drops what it cannot write, and nothing would keep it; "
                      "let it stall or fail"));
  }
  if (letters != sinks.end() && letters->second->seal_policy().routed) {
    return fail(
        Error::config("the sink of the dead letters keeps records apart by their values, and a dead letter has "
                      "none; name its files by where a record came from"));
  }
  if (!chain) return fail(Error::config("the pipeline has no chain; set one with chain()"));
  return {};
}

Result<void> Pipeline::State::open_sinks(const SinkContext& context, const Meter& meter, ControlLoop::Options& parts) {
  // The letters' place ends last: what the others give up may still go there.
  const auto letters_place = std::ranges::find(sinks, kDeadLetterSink, &decltype(sinks)::value_type::first);
  if (letters_place != sinks.end()) std::rotate(letters_place, letters_place + 1, sinks.end());
  for (auto& [name, sink] : sinks) {
    SinkContext own = context;
    own.log = log.named(sink_component(name));
    own.meter = meter.with_component(name, std::string(sink->type()));
    MILLRACE_ASSIGN(auto pool, SinkPool::open({name, sink, std::move(own), parts.budget, parts.board, host}));
    parts.sinks.push_back(std::move(pool));
  }
  // One for all of them, as it tells apart who gives up what.
  const std::shared_ptr<LostBatches> letters =
      parts.sinks.back()->holds_letters() ? parts.sinks.back()->make_lost_batches() : nullptr;
  for (std::size_t i = 0; i < sinks.size(); ++i) {
    if (sinks[i].second->retry_policy().on_failure != OnWriteFailure::drop) continue;
    if (letters != nullptr) {
      parts.sinks[i]->give_up_to(letters);
    } else {
      log.warn("what this sink cannot write is dropped, as it is told to, and nothing keeps it; a dead_letter would",
               {{"sink", sink_component(sinks[i].first)}});
    }
  }
  return {};
}

// What a sink that writes exactly once needs of the others.
Result<void> Pipeline::State::check_replays(const Source& source) const {
  const std::string gap = source.replay_gap();
  const BesideSink beside{
      .replays = gap.empty(), .keeps_account = source.keeps_account(), .other_sinks = sinks.size() > 1};
  const auto refuse = [](std::string text) { return fail(Error::config(std::move(text))); };
  for (const auto& [name, sink] : sinks) {
    const SinkTraits traits = sink->traits();
    const SealPolicy policy = sink->seal_policy();
    const std::string who = sink_component(name);
    if (name == kDeadLetterSink && (traits.recalls || policy.by_content))
      return refuse("dead letters are kept at least once; their sink cannot write exactly once");
    switch (exactly_once_gap(traits, policy, beside)) {
      case ExactlyOnceGap::none:
        break;
      case ExactlyOnceGap::replay:
        return refuse(fmt::format("{} cannot write exactly once: {}", who, gap));
      case ExactlyOnceGap::order:
        return refuse(fmt::format("{} recalls what it has written, so its traits must be ordered", who));
      case ExactlyOnceGap::receipt:
        return refuse(fmt::format(
            "{} recalls what earlier runs have written, and a receipt names the object of each record, which "
            "this run does not know of those: leave out the receipt, or let files end by content alone",
            who));
      case ExactlyOnceGap::company:
        return refuse(
            fmt::format("{} seals by content alone, which needs to be the only sink: a position that waits for another "
                        "one rests inside its files",
                        who));
    }
  }
  return {};
}

Result<std::unique_ptr<ControlLoop>> Pipeline::State::build(std::shared_ptr<Source> source, const Meter& meter) {
  MILLRACE_TRY(check_replays(*source));
  ControlLoop::Options parts;
  parts.pipeline = options;
  parts.source = std::move(source);
  parts.chain = chain;
  parts.budget = std::make_shared<InflightBudget>(options.max_inflight_bytes);
  std::shared_ptr<Ledger> ledger;
  if (parts.source->keeps_account()) ledger = std::make_shared<Ledger>();
  parts.board = std::make_shared<RunBoard>(std::make_shared<EventCount>(), log, std::move(ledger));
  parts.view = view;
  parts.stop = stop;
  parts.clock = clock;
  parts.host = host;
  parts.random = random;
  parts.log = log;
  parts.chain_meter = meter.with_component("chain", "chain");
  MILLRACE_ASSIGN(auto lane_metrics, LaneMetrics::make(meter.with_component("source", "source"), parts.chain_meter));
  parts.lane_metrics = std::make_shared<LaneMetrics>(std::move(lane_metrics));
  MILLRACE_ASSIGN(parts.metrics, ControlMetrics::make(meter.with_component("pipeline", "pipeline")));
  {
    const MutexLock lock(board_mutex);
    board = parts.board;
  }
  SinkContext context;
  context.pipeline = options.name;
  context.clock = clock;
  context.random = random;
  context.bounded = parts.source->bounded();
  context.stop_requested = [stop = stop] { return stop.requested(); };
  MILLRACE_TRY(open_sinks(context, meter, parts));
  return std::make_unique<ControlLoop>(std::move(parts));
}

// Everything up to the moment at which lanes may run.
Result<std::unique_ptr<ControlLoop>> Pipeline::State::start(std::shared_ptr<Source> source) {
  const Meter meter(metrics, {{"pipeline", options.name}});
  MILLRACE_ASSIGN(auto loop, build(source, meter));
  if (auto opened =
          guarded("the source's open",
                  [&] { return source->open(loop->source_context(meter.with_component("source", "source"))); });
      !opened) {
    loop->fail_start(std::move(opened).error());
  }
  return loop;
}

RunReport Pipeline::run(Result<std::unique_ptr<Source>> source) {
  RunReport report;
  const SteadyTime begun = state_->clock->now();
  Result<void> ran = guarded("the run", [&] { return state_->run(std::move(source), report); });
  if (!ran) {
    report.state = ExitState::failed;
    report.error = std::move(ran).error();
    state_->view->phase.store(PipelineSnapshot::Phase::ended, memory_order_release);
  }
  report.elapsed = state_->clock->now() - begun;
  return report;
}

Result<void> Pipeline::State::run(Result<std::unique_ptr<Source>> made, RunReport& report) {
  Result<void> ready = check_assembly();
  ran = true;
  MILLRACE_TRY(std::move(ready));
  MILLRACE_ASSIGN(const std::shared_ptr<Source> source, std::move(made));
  if (!source) return fail(Error::config("the pipeline has no source"));
  report.bounded = source->bounded();
  auto started = start(source);
  if (!started && stop.requested() && started.error().code() == ErrorCode::cancelled) {  // a sink's open gave way
    report.state = ExitState::stopped;
    view->phase.store(PipelineSnapshot::Phase::ended, memory_order_release);
    return {};
  }
  MILLRACE_ASSIGN(const auto control, std::move(started));
  if (!control->error()) {
    lend_source(source.get());
    control->run();
    lend_source(nullptr);
  }
  report.state = control->state();
  report.error = control->error();
  report.committed = control->committed();
  report.committed_summary = source->committed_summary();
  const SourceProgress progress = source->progress();
  report.objects_skipped = progress.objects_skipped;
  report.objects_quarantined = progress.objects_quarantined;
  report.records_unacknowledged = control->unacknowledged();
  fill_counts(report);
  return {};
}

// Snapshots ask the source while the run has it.
void Pipeline::State::lend_source(Source* source) {
  const MutexLock lock(view->source_mutex);
  view->source = source;
}

void Pipeline::State::fill_counts(RunReport& report) const {
  const MutexLock lock(board_mutex);
  report.records_in = board->records_in.load();
  report.records_out = board->records_written.load();
  report.records_filtered = board->records_filtered.load();
  report.records_left_out = board->records_recalled.load();
  report.records_put_off = board->records_put_off.load();
  report.records_skipped = board->skipped();
  report.records_dead_lettered = board->dead_lettered();
  report.dead_letters_written = board->letters_written.load();
  if (const auto dropped = board->records_dropped.load(); dropped != 0)
    report.records_skipped["write_dropped"] = dropped;
  if (const auto kept = board->records_given_up.load(); kept != 0) report.records_dead_lettered["write_dropped"] = kept;
  report.payload_bytes = board->payload_bytes.load();
  report.bytes_written = board->bytes_written.load();
  report.batches_written = board->batches_written.load();
  report.writes_dropped = board->batches_dropped.load();
}

PipelineSnapshot Pipeline::snapshot() const {
  RunView& view = *state_->view;
  PipelineSnapshot shot;
  shot.phase = view.phase.load(memory_order_acquire);
  shot.inflight_bytes = view.inflight_bytes.load(memory_order_relaxed);
  shot.pending_batches = view.pending_batches.load(memory_order_relaxed);
  shot.lanes = view.lanes.load(memory_order_relaxed);
  shot.lanes_exhausted = view.lanes_exhausted.load(memory_order_relaxed);
  shot.lanes_blocked = view.lanes_blocked.load(memory_order_relaxed);
  shot.lanes_idle = view.lanes_idle.load(memory_order_relaxed);
  std::shared_ptr<RunBoard> board;
  {
    const MutexLock lock(state_->board_mutex);
    board = state_->board;
  }
  if (!board) return shot;
  shot.records_in = board->records_in.load(memory_order_relaxed);
  shot.records_out = board->records_written.load(memory_order_relaxed);
  shot.records_filtered = board->records_filtered.load(memory_order_relaxed);
  for (const auto& [reason, count] : board->skipped()) shot.records_skipped += count;
  for (const auto& [reason, count] : board->dead_lettered()) shot.records_dead_lettered += count;
  shot.records_skipped += board->records_dropped.load(memory_order_relaxed);
  shot.records_dead_lettered += board->records_given_up.load(memory_order_relaxed);
  shot.payload_bytes = board->payload_bytes.load(memory_order_relaxed);
  shot.bytes_written = board->bytes_written.load(memory_order_relaxed);
  shot.batches_written = board->batches_written.load(memory_order_relaxed);
  shot.write_retries = board->write_retries.load(memory_order_relaxed);
  shot.last_write_error = board->write_error();
  if (!shot.last_write_error.empty() || shot.lanes_blocked != 0) {
    shot.waiting_for = "sink";
  } else if (view.commit_failing.load(memory_order_relaxed)) {
    shot.waiting_for = "commit";
  } else if (shot.lanes_idle != 0 && shot.lanes_idle + shot.lanes_exhausted == shot.lanes) {
    shot.waiting_for = "source";
  }
  const SteadyTime now = state_->clock->now();
  const auto since = [&](SteadyTime then) { return then == SteadyTime() ? Duration::zero() : now - then; };
  shot.since_commit = since(view.committed.load(memory_order_relaxed));
  shot.since_control_heartbeat = since(view.heartbeat.load(memory_order_relaxed));
  const MutexLock lock(view.source_mutex);
  if (view.source != nullptr) {
    shot.source = view.source->progress();
    shot.source_status_json = view.source->status_json();
  }
  return shot;
}

}  // namespace millrace
