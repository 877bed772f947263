// SPDX-License-Identifier: Apache-2.0
// A chain takes a batch's payloads through decoder, operators and encoders into the lane's sinks, compiled to one loop:
// one virtual call per batch, none per record (INV-8). One instance per lane, on the lane's thread, so operators may
// keep state without locks.
//
//   decode::json<Order>({.on_error = OnError::skip}) | ops::filter(...) | ops::map(...) | encode::json_lines()
//
// `operator|` composes; `compile` (pipeline/compile.h) binds a composition to the lane's sinks.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/ack/ack_issuer.h"
#include "millrace/ack/ledger.h"
#include "millrace/base/error.h"
#include "millrace/base/log.h"
#include "millrace/base/result.h"
#include "millrace/encode/encode_spec.h"
#include "millrace/metrics/meter.h"
#include "millrace/record/on_error.h"
#include "millrace/sink/lane_sink.h"
#include "millrace/source/payload_batch.h"

#pragma GCC visibility push(default)
namespace millrace {

/// A lane's sinks, by the name they have in the pipeline. Owned by the lane.
class LaneOutputs {
 public:
  void add(std::string name, std::unique_ptr<LaneSink> sink) { sinks_.emplace_back(std::move(name), std::move(sink)); }
  /// Where records that are skipped are kept, one letter each, written as `spec` says. No encoder finds it by name.
  void add_dead_letters(std::unique_ptr<LaneSink> sink, EncodeSpec spec) {
    dead_letters_ = sink.get();
    dead_letter_spec_ = std::move(spec);
    add(std::string(kDeadLetterSink), std::move(sink));
  }
  /// Null when they are kept nowhere.
  [[nodiscard]] LaneSink* dead_letters() const noexcept { return dead_letters_; }
  [[nodiscard]] const EncodeSpec& dead_letter_spec() const noexcept { return dead_letter_spec_; }
  /// Null when there is none of that name; "" names the only or first one.
  [[nodiscard]] LaneSink* find(std::string_view name) const {
    for (const auto& [known, sink] : sinks_) {
      if (sink.get() != dead_letters_ && (name.empty() || known == name)) return sink.get();
    }
    return nullptr;
  }
  /// Every sink, that of the dead letters too.
  [[nodiscard]] const std::vector<std::pair<std::string, std::unique_ptr<LaneSink>>>& all() const noexcept {
    return sinks_;
  }
  [[nodiscard]] bool blocked() const noexcept {
    for (const auto& [name, sink] : sinks_) {
      if (sink->blocked()) return true;
    }
    return false;
  }

 private:
  std::vector<std::pair<std::string, std::unique_ptr<LaneSink>>> sinks_;
  LaneSink* dead_letters_ = nullptr;
  EncodeSpec dead_letter_spec_;
};

/// Counts of one run of a chain over (part of) a batch; added to metrics once per batch.
struct ChainCounts {
  std::uint64_t records_in = 0;  ///< payloads taken
  std::uint64_t records_decoded = 0;
  std::uint64_t records_out = 0;  ///< records encoded, over all sinks
  std::uint64_t filtered = 0;     ///< records an operator dropped on purpose
  std::uint64_t payload_bytes = 0;
  RecordFates::ByReason skipped;        ///< rejected and kept nowhere
  RecordFates::ByReason dead_lettered;  ///< source records that are kept in the dead letters

  /// Values that records lacked, where another name stands for them in a key (RouteSpec), by reason.
  RecordFates::ByReason fallbacks;

  void skip(ErrorCode reason, std::uint64_t records = 1) { RecordFates::add(skipped, reason, records); }
  void fall_back(ErrorCode reason, std::uint64_t values) { RecordFates::add(fallbacks, reason, values); }
};

struct ChainStep {
  std::size_t next = 0;        ///< the first payload not taken; payloads.size() when the batch is through
  std::optional<Error> error;  ///< set when payload `next` failed the run; nothing of that payload was written
};

/// What a chain is built with.
struct ChainContext {
  std::string pipeline;
  LaneId lane;
  PartitionId partition;
  LaneOutputs* outputs = nullptr;
  Meter meter;
  /// Set when the source keeps account: what becomes of each source record is said here. Compiled chains do so.
  std::shared_ptr<Ledger> ledger;
  /// Receives each skipped or failing record once per kind (folded by the log); may do nothing.
  Logger log;
};

class LaneChain {
 public:
  virtual ~LaneChain() = default;
  /// Takes payloads from index `from` on until the batch is through, an output is blocked, or a record fails. `ack` is
  /// the batch's handle: a seal splits it through `issuer`, so that what is left of it always answers for the payloads
  /// not yet sealed. User code that throws is caught here, once, and returned as a fatal error (user_code).
  [[nodiscard]] virtual ChainStep run(const PayloadBatch& batch, std::size_t from, AckRef& ack, AckIssuer& issuer,
                                      ChainCounts& counts) = 0;
};

using ChainFactory = std::function<Result<std::unique_ptr<LaneChain>>(const ChainContext&)>;

}  // namespace millrace
#pragma GCC visibility pop
