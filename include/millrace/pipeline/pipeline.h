// SPDX-License-Identifier: Apache-2.0
// Pipeline: sinks, a chain and a source, assembled and run. Build it on one thread; run() blocks and is the control
// thread; stop handles and snapshots may be used from any thread.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "millrace/base/log.h"
#include "millrace/base/result.h"
#include "millrace/base/thread_host.h"
#include "millrace/base/time.h"
#include "millrace/metrics/meter.h"
#include "millrace/pipeline/chain.h"
#include "millrace/pipeline/compile.h"
#include "millrace/pipeline/run_report.h"
#include "millrace/pipeline/stop_handle.h"
#include "millrace/sink/sink.h"
#include "millrace/source/source.h"

#pragma GCC visibility push(default)
namespace millrace {

struct PipelineOptions {
  std::string name = "millrace";
  std::size_t threads = 0;                       ///< lane threads; 0: as many as cores, and never more than lanes
  bool pin_threads = false;                      ///< each lane thread to one core
  std::size_t max_inflight_bytes = 256U << 20U;  ///< sealed batches waiting or being written, over all sinks
  Duration drain_timeout = std::chrono::seconds(25);
  std::size_t max_poll_records = 4096;                    ///< payloads asked of one poll
  Duration poll_timeout = std::chrono::milliseconds(10);  ///< of lanes that take no waker
  // checkpoint:
  Duration checkpoint_interval = std::chrono::seconds(5);   ///< at least 100 ms
  std::size_t max_pending_batches = 4096;                   ///< per partition; a lane at the limit is not polled
  Duration stalled_fail_after = std::chrono::seconds(120);  ///< a watermark that does not move this long while batches
                                                            ///< are pending and no write explains it; 0: never
};

/// A consistent-enough picture of a running pipeline, for progress, /status and /healthz.
struct PipelineSnapshot {
  enum class Phase { starting, running, draining, ended } phase = Phase::starting;
  std::uint64_t records_in = 0;
  std::uint64_t records_out = 0;
  std::uint64_t records_filtered = 0;
  std::uint64_t records_skipped = 0;
  std::uint64_t records_dead_lettered = 0;
  std::uint64_t payload_bytes = 0;
  std::uint64_t bytes_written = 0;
  std::uint64_t batches_written = 0;
  std::uint64_t write_retries = 0;
  std::uint64_t inflight_bytes = 0;
  std::uint64_t pending_batches = 0;
  std::size_t lanes = 0, lanes_exhausted = 0, lanes_blocked = 0, lanes_idle = 0;
  std::string waiting_for;       ///< "" or what holds the run back: "sink", "commit", "source"
  std::string last_write_error;  ///< of the write being retried now; empty when none is
  Duration since_commit{0};
  Duration since_control_heartbeat{0};
  SourceProgress source;
  std::string source_status_json;
};

class Pipeline {
 public:
  explicit Pipeline(PipelineOptions options = {});
  Pipeline(Pipeline&&) noexcept;
  Pipeline& operator=(Pipeline&&) noexcept;
  ~Pipeline();

  /// Adds a sink. Every record goes where the chain sends it; a chain without names sends to the only sink. A failed
  /// Result is kept and ends run() with its error, so that assembly reads as one expression.
  Pipeline& sink(Result<std::unique_ptr<Sink>> sink) { return this->sink("sink", std::move(sink)); }
  /// `name`: any but kDeadLetterSink.
  Pipeline& sink(std::string name, Result<std::unique_ptr<Sink>> sink);

  /// Where records that a policy skips are kept, each with its bytes, where it came from, and why
  /// (docs/formats/dead_letter.md). Written as the sink's encode_spec() says, without its wrapper. Positions wait until
  /// a letter is durable. Refused: a sink that drops what it cannot write, keeps records apart by their values, or
  /// writes exactly once.
  Pipeline& dead_letter(Result<std::unique_ptr<Sink>> sink);

  /// `factory`: callable taking ChainContext, returning a composition (`decode | ops | encode`); called once per lane.
  template <class Factory>
  Pipeline& chain(Factory factory) {
    return chain_factory(
        [factory = std::move(factory)](const ChainContext& context) { return compile(factory(context), context); });
  }
  Pipeline& chain_factory(ChainFactory factory);

  Pipeline& metrics(std::shared_ptr<MetricRegistry> registry);
  Pipeline& log(Logger log);
  /// `clock` and `random` outlive the run, and a thread that a run had to leave behind.
  Pipeline& clock(Clock& clock);
  Pipeline& random(Random& random);
  /// Outlives the run as they do. testing::simulate() is who passes another one than the real.
  Pipeline& threads(ThreadHost& host);

  [[nodiscard]] StopHandle stop_handle() const;
  /// Any thread, before, during and after run().
  [[nodiscard]] PipelineSnapshot snapshot() const;

  /// Runs to the end. Never throws; whatever goes wrong is in the report, with one exception: when the system refuses
  /// a thread the process ends with exit code 1 and one line on stderr, as safe as a kill. At most once per pipeline.
  [[nodiscard]] RunReport run(Result<std::unique_ptr<Source>> source);

 private:
  Pipeline& add_sink(std::string name, Result<std::unique_ptr<Sink>> sink);
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace millrace
#pragma GCC visibility pop
