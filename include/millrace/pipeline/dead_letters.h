// SPDX-License-Identifier: Apache-2.0
// DeadLetters: a chain's way into the place of dead letters: one letter for each source record that was skipped, in
// whole or in part, written once the whole source record has gone through. It takes a reference on the batch's ack, so
// the watermark waits until it is durable (INV-1, INV-6). Lane thread; owned by the chain.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "millrace/ack/ack_ref.h"
#include "millrace/ack/ledger.h"
#include "millrace/encode/dead_letter.h"
#include "millrace/encode/record_router.h"
#include "millrace/record/record_flow.h"
#include "millrace/sink/lane_sink.h"

namespace millrace {

class DeadLetters final : public SkippedRecords {
 public:
  /// All outlive this.
  DeadLetters(LaneSink& sink, const EncodeSpec& spec, const RecordFlow& flow)
      : sink_(&sink), flow_(&flow), format_(spec) {
    if (sink.route_spec().empty()) return;
    // By the values of the payload that was refused; a letter is never refused for want of one.
    RouteSpec route = sink.route_spec();
    route.on_missing = RouteSpec::OnMissing::fallback;
    router_.emplace(std::move(route));
  }

  [[nodiscard]] LaneSink& sink() noexcept { return *sink_; }
  /// Something of the present source record was skipped. The first fault of it stands in its letter.
  void note(const Error& error, StageId stage) override;
  [[nodiscard]] bool waiting() const noexcept { return fault_.has_value(); }
  /// Of the last letter that was written.
  [[nodiscard]] ErrorCode reason() const noexcept { return reason_; }

  /// The source record has gone through. True when the sink wants to be sealed, or is blocked.
  [[nodiscard]] bool write(std::string_view payload, const RecordMeta& meta, const AckRef& ack);
  /// The source record has failed: nothing of it stays.
  void discard() noexcept { fault_.reset(); }
  /// Letters since the last call, by reason.
  [[nodiscard]] RecordFates::ByReason take_counts() { return std::exchange(counts_, {}); }

 private:
  struct Fault {
    StageId stage = 0;
    ErrorCode reason{};
    std::string text;
  };
  LaneSink* sink_;
  const RecordFlow* flow_;
  DeadLetterFormat format_;
  std::optional<RecordRouter> router_;  ///< where the sink keeps records apart
  std::optional<Fault> fault_;
  ErrorCode reason_{};
  RecordFates::ByReason counts_;
};

}  // namespace millrace
