// SPDX-License-Identifier: Apache-2.0
// Sink: what a destination is: how records are encoded for it, when a chunk is sealed, and who writes it. Built once;
// open() and make_writer() are called by the control thread before any lane runs; everything else is data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "millrace/base/backoff.h"
#include "millrace/base/ids.h"
#include "millrace/base/log.h"
#include "millrace/base/result.h"
#include "millrace/base/time.h"
#include "millrace/codec/compressor.h"
#include "millrace/encode/encode_spec.h"
#include "millrace/encode/route_spec.h"
#include "millrace/metrics/meter.h"
#include "millrace/sink/writer.h"

#pragma GCC visibility push(default)
namespace millrace {

/// What messages and landings call the place of dead letters; no other sink of a pipeline may have this name.
inline constexpr std::string_view kDeadLetterSink = "dead_letter";

/// When an open chunk is sealed. Limits combine: whichever is met first. Checked after each whole source record, so a
/// chunk may exceed a limit by what one record encodes to. 0 turns a limit off.
struct SealPolicy {
  std::size_t max_bytes = 8U << 20U;
  std::uint64_t max_records = 0;
  std::size_t uncounted = 0;  ///< bytes of each record that max_bytes leaves out: what separates it from the next
  Duration max_age{0};        ///< since the first record
  Duration max_idle{0};       ///< since the last record
  enum class Boundary {
    none,
    hour,
    day
  } boundary = Boundary::none;  ///< UTC, of the record's timestamp: a chunk never spans one
  bool by_arrival = false;   ///< the boundary is one of the wall clock when a record's batch came, not of its timestamp
  std::size_t max_open = 1;  ///< with a boundary: so many chunks of a lane are open at once, each of its own time
  bool per_object = false;   ///< a chunk never holds records of two objects
  bool routed = false;       ///< records name a route, and each has chunks of its own, of which max_open are open
  /// A chunk ends by what is in it alone, never for want of memory or time: what a drain finds open is put off, so that
  /// a replay makes the same chunks again.
  bool by_content = false;
  /// How a file is packed while it grows, block by block. Its limits count bytes as they were encoded.
  Compression compression{};
  /// Bytes of memory that open files may hold over all lanes (INV-7); 0: no bound. Beyond it the largest file of a lane
  /// spills to `spool_dir`, or is sealed where that is empty or full.
  std::size_t open_bytes = 0;
  std::string spool_dir{};
  std::uint64_t spool_limit = 0;  ///< bytes on disk; 0: none
};

/// What the engine does with a batch whose tries are used up.
enum class OnWriteFailure {
  stall,  ///< keep trying; the watermark waits
  fail,   ///< the run ends Failed
  drop,   ///< only on the operator's word: counted, acknowledged
};

struct RetryPolicy {
  BackoffOptions backoff{std::chrono::seconds(1), std::chrono::seconds(60), 2.0};
  int max_attempts = 3;  ///< tries of one burst; decides only for fail and drop
  Duration deadline{0};  ///< of one burst: no try begins later than this after its start; fail and drop; 0: none
  OnWriteFailure on_failure = OnWriteFailure::stall;
};

struct SinkTraits {
  std::size_t concurrency = 1;  ///< writers, each on an I/O thread of its own
  /// Batches of one partition are written one after the other, in order.
  bool ordered = true;
  /// Its writers answer Writer::recall, and a lane asks before its first record; needs `ordered`, and a source that
  /// replays (Source::replay_gap).
  bool recalls = false;
  /// A write that gets nowhere ends with an error by itself, so one under way is trusted however long it lasts. Of
  /// other sinks checkpoint.stalled_fail_after bounds a write too.
  bool writes_time_out = false;
  /// Bytes of memory that a writer may hold beside the batch that it writes (INV-7).
  std::uint64_t writer_memory = 0;
};

struct SinkContext {
  std::string pipeline;
  Clock* clock = &Clock::real();
  Random* random = &Random::system();
  Logger log;
  Meter meter;           ///< labelled with the sink's component
  bool bounded = false;  ///< the source ends by itself
  /// Whether the run was asked to stop: an open() that takes long ends then, with `cancelled`. Any thread; may be
  /// unset.
  std::function<bool()> stop_requested;
};

class Sink {
 public:
  virtual ~Sink() = default;
  /// "s3", "stdout": the component type in messages and metrics.
  [[nodiscard]] virtual std::string_view type() const = 0;
  /// Connects and probes. An error here ends the run before a record moves.
  [[nodiscard]] virtual Result<void> open(SinkContext context) = 0;
  [[nodiscard]] virtual Result<std::unique_ptr<Writer>> make_writer() = 0;
  [[nodiscard]] virtual SealPolicy seal_policy() const { return {}; }
  [[nodiscard]] virtual Envelope envelope() const { return {}; }
  [[nodiscard]] virtual EncodeSpec encode_spec() const { return {}; }
  /// By which values records are kept apart; empty unless SealPolicy::routed.
  [[nodiscard]] virtual RouteSpec route_spec() const { return {}; }
  [[nodiscard]] virtual RetryPolicy retry_policy() const { return {}; }
  [[nodiscard]] virtual SinkTraits traits() const { return {}; }
  /// Everything before these watermarks is durable in every sink, or was dropped on purpose. Control thread, behind
  /// each commit; must not wait.
  virtual void settled(std::span<const PartitionWatermark> /*watermarks*/) {}
  /// After the last writer was closed.
  [[nodiscard]] virtual Result<void> close() { return {}; }
};

}  // namespace millrace
#pragma GCC visibility pop
