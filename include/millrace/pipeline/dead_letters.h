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
#include "millrace/record/record_flow.h"
#include "millrace/sink/lane_sink.h"

#pragma GCC visibility push(default)
namespace millrace {

class DeadLetters final : public SkippedRecords {
 public:
  /// All outlive this.
  DeadLetters(LaneSink& sink, const EncodeSpec& spec, const RecordFlow& flow)
      : sink_(&sink), flow_(&flow), format_(spec) {}

  [[nodiscard]] LaneSink& sink() noexcept { return *sink_; }
  /// Something of the present source record was skipped. The first fault of it stands in its letter.
  void note(const Error& error, StageId stage) override;
  [[nodiscard]] bool waiting() const noexcept { return fault_.has_value(); }

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
  std::optional<Fault> fault_;
  RecordFates::ByReason counts_;
};

}  // namespace millrace
#pragma GCC visibility pop
