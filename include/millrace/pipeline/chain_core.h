// SPDX-License-Identifier: Apache-2.0
// ChainCore: what every compiled chain does beside its own loop: it knows the outputs, seals where they are due and
// splits the batch's ack exactly there, so that a replay seals the same objects, takes back what a failed record wrote,
// keeps what is skipped where a place is given for it, and puts the counts together. Lane thread; owned by the chain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/ack/ack_issuer.h"
#include "millrace/ack/ack_ref.h"
#include "millrace/ack/ledger.h"
#include "millrace/base/error.h"
#include "millrace/pipeline/chain.h"
#include "millrace/pipeline/chain_output.h"
#include "millrace/pipeline/dead_letters.h"
#include "millrace/record/record_flow.h"
#include "millrace/source/payload_batch.h"

#pragma GCC visibility push(default)
namespace millrace {

class ChainCore {
 public:
  /// `staged`: one source record may become several.
  ChainCore(const ChainContext& context, bool staged);

  [[nodiscard]] RecordFlow& flow() noexcept { return flow_; }
  /// While the chain is built: the way to the sink of this name, one for each sink however many encoders go there. Null
  /// when there is none, or when it takes framed records and the encoder writes others, or the reverse (`framed`);
  /// build_error() says so.
  [[nodiscard]] ChainOutput* output(std::string_view sink, const std::string& stage, bool framed);
  [[nodiscard]] const std::optional<Error>& build_error() const noexcept { return build_error_; }

  /// The first payload not taken. Moved by the chain's loop, so that it is known where user code threw.
  std::size_t next = 0;

  /// False: an output is blocked, or refuses the batch; nothing can be taken.
  [[nodiscard]] bool begin_run(const PayloadBatch& batch, std::size_t from, AckRef& ack, AckIssuer& issuer);
  /// Why an output refuses it.
  [[nodiscard]] std::optional<Error> take_refusal() noexcept { return std::exchange(refusal_, std::nullopt); }

  /// Before each source record: false when a sink that had to be sealed before it is blocked now.
  [[nodiscard]] bool admits(const RecordMeta& meta) {
    for (const auto& output : outputs_) {
      if (output->sink().seal_before(meta)) [[unlikely]]
        return seal_before(meta);
    }
    return true;
  }
  /// Behind each source record, which ends at `next`: false when the run must pause.
  [[nodiscard]] bool settles(const RecordMeta& meta) {
    bool due = false;
    bool reached = false;
    for (const auto& output : outputs_) {
      if (staged_) reached |= output->commit(meta);
      due = due || output->sink().seal_due() || output->sink().blocked();
    }
    if (letters_ && letters_->waiting()) [[unlikely]]
      due |= letters_->write(batch_->payloads[next], meta, *ack_);
    if (ledger_) count_fate(staged_ ? reached : flow_.filtered == filtered_);
    return !due || seal_behind();
  }
  /// Puts the run's result together. `failed`: payload `next` was refused. `thrown`: it made user code throw this.
  [[nodiscard, gnu::noinline]] ChainStep end_run(bool failed, std::optional<std::string> thrown, ChainCounts& counts);

 private:
  [[nodiscard, gnu::cold]] bool seal_before(const RecordMeta& meta);
  [[nodiscard, gnu::cold]] bool seal_behind();
  [[nodiscard]] AckRef split_before(std::size_t end);
  [[nodiscard]] bool blocked() const;
  void count_fate(bool reached) {
    if (flow_.rejected_as) {
      letters_ ? fates_.dead_letter(*flow_.rejected_as) : fates_.skip(*flow_.rejected_as);
      flow_.rejected_as.reset();
    } else if (reached) {
      ++fates_.out;
    } else {
      ++fates_.filtered;
    }
    filtered_ = flow_.filtered;
  }
  void close_account(std::size_t end);
  [[gnu::cold]] Error thrown_error(const std::string& what) const;

  RecordFlow flow_;
  const LaneOutputs* sinks_;
  const std::unique_ptr<DeadLetters> letters_;  ///< null: skipped records are kept nowhere
  const std::shared_ptr<Ledger> ledger_;        ///< null: nobody asks
  const bool staged_;
  std::vector<std::unique_ptr<ChainOutput>> outputs_;
  std::optional<Error> build_error_;
  std::optional<Error> refusal_;

  // The run.
  const PayloadBatch* batch_ = nullptr;
  AckRef* ack_ = nullptr;
  AckIssuer* issuer_ = nullptr;
  std::size_t from_ = 0;
  std::optional<Offset> split_behind_;  ///< where the last split lies; also across runs

  // The account of the records that are in no other yet.
  std::size_t accounted_ = 0;  ///< the first payload of it
  RecordFates fates_;
  std::uint64_t encoded_ = 0;   ///< of the run, in accounts that are closed
  std::uint64_t filtered_ = 0;  ///< of flow_, behind the last record counted
};

/// Calls `body(state)`. What it throws ends here: the words of it, or nothing when it returned. The one place where
/// exceptions of user code are caught, once per run.
[[nodiscard]] std::optional<std::string> call_user_code(void (*body)(void* state), void* state);

}  // namespace millrace
#pragma GCC visibility pop
