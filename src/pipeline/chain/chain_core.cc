// SPDX-License-Identifier: Apache-2.0
#include "millrace/pipeline/chain_core.h"

#include <algorithm>
#include <utility>

#include "millrace/record/record_place.h"

namespace millrace {

ChainCore::ChainCore(const ChainContext& context, bool staged)
    : flow_(context.log),
      sinks_(context.outputs),
      letters_(sinks_->dead_letters() == nullptr
                   ? nullptr
                   : std::make_unique<DeadLetters>(*sinks_->dead_letters(), sinks_->dead_letter_spec(), flow_)),
      ledger_(context.ledger),
      staged_(staged) {
  flow_.kept_by = letters_.get();
}

ChainOutput* ChainCore::output(std::string_view sink, const std::string& stage, bool framed) {
  const auto refuse = [&](std::string text) {
    if (!build_error_) build_error_ = Error::config(stage + ": " + std::move(text));
    return nullptr;
  };
  std::string names;
  std::size_t several = 0;
  for (const auto& [name, lane_sink] : sinks_->all()) {
    if (lane_sink.get() == sinks_->dead_letters()) continue;
    names += (names.empty() ? "'" : ", '") + name + "'";
    ++several;
  }
  if (sink.empty() && several > 1) {
    return refuse("the pipeline has several sinks (" + names + "); say which one with .to(\"name\")");
  }
  LaneSink* found = sinks_->find(sink);
  if (found == nullptr) {
    return refuse("there is no sink '" + std::string(sink) + "'; there " +
                  (names.empty() ? "is none at all" : "are: " + names));
  }
  if (found->framed() != framed) {
    return refuse(framed ? "its sink does not take records one by one; encode::framed() is for those that do"
                         : "its sink takes records one by one, with key, headers and time: end the chain with "
                           "encode::framed()");
  }
  for (const auto& output : outputs_) {
    if (&output->sink() == found) return output.get();
  }
  return outputs_.emplace_back(std::make_unique<ChainOutput>(*found, staged_)).get();
}

bool ChainCore::blocked() const {
  return (letters_ && letters_->sink().blocked()) ||
         std::any_of(outputs_.begin(), outputs_.end(), [](const auto& output) { return output->sink().blocked(); });
}

bool ChainCore::begin_run(const PayloadBatch& batch, std::size_t from, AckRef& ack, AckIssuer& issuer) {
  if (blocked()) return false;
  batch_ = &batch;
  ack_ = &ack;
  issuer_ = &issuer;
  next = from_ = accounted_ = from;
  fates_ = {};
  encoded_ = filtered_ = 0;
  flow_.rejected_as.reset();
  ++flow_.run;
  const auto begin = [&](LaneSink& sink) {
    sink.begin_batch(batch);
    if (auto refusal = sink.take_refusal()) refusal_ = std::move(refusal);
  };
  for (const auto& output : outputs_) {
    output->begin_run(ack);
    begin(output->sink());
  }
  if (letters_) begin(letters_->sink());
  // A sink may have sealed what must not be mixed with this batch.
  return !refusal_ && !blocked();
}

// The batch's ack goes on answering for payload `end` and what lies behind it; the returned one keeps what lies before.
// Null when there is nothing to cut off.
AckRef ChainCore::split_before(std::size_t end) {
  const Offset last = batch_->offset(end - 1);
  if (!*ack_ || last >= ack_->last_offset() || split_behind_ == last) return {};
  if (ledger_) close_account(end);
  AckRef rest = issuer_->split(*ack_, last);
  split_behind_ = last;
  return std::exchange(*ack_, std::move(rest));
}

// The account of what lies before payload `end`, given before the acks of it can settle.
void ChainCore::close_account(std::size_t end) {
  if (end <= accounted_) return;
  fates_.in = end - accounted_;
  for (const auto& output : outputs_) fates_.encoded += output->take_records();
  encoded_ += fates_.encoded;
  ledger_->add(batch_->partition,
               {batch_->offset(accounted_), batch_->offset(end - 1), std::exchange(fates_, RecordFates())});
  accounted_ = end;
}

bool ChainCore::seal_before(const RecordMeta& meta) {
  // Held until the seals are done: a watermark must not rest where nothing has been sealed yet.
  const AckRef before = next == 0 ? AckRef() : split_before(next);
  for (const auto& output : outputs_) {
    if (output->sink().seal_before(meta)) output->sink().make_room();
  }
  return !blocked();
}

bool ChainCore::seal_behind() {
  const auto is_due = [](const auto& output) { return output->sink().seal_due(); };
  const bool letters_due = letters_ && is_due(letters_);
  if (letters_due || std::any_of(outputs_.begin(), outputs_.end(), is_due)) {
    const AckRef before = split_before(next + 1);
    for (const auto& output : outputs_) {
      if (is_due(output)) output->sink().seal_due_files();
    }
    if (letters_due) letters_->sink().seal_due_files();
  }
  return !blocked();
}

ChainStep ChainCore::end_run(bool failed, std::optional<std::string> thrown, ChainCounts& counts) {
  ChainStep step{next, std::nullopt};
  if (failed || thrown) {
    for (const auto& output : outputs_) output->discard();
    if (letters_) letters_->discard();
    step.error = thrown ? thrown_error(*thrown) : flow_.take_error();
  }
  counts.records_in += next - from_;
  for (std::size_t i = from_; i < next; ++i) counts.payload_bytes += batch_->payloads[i].size();
  counts.records_decoded += flow_.decoded;
  counts.filtered += flow_.filtered;
  if (letters_) {
    for (const auto& [code, count] : letters_->take_counts()) RecordFates::add(counts.dead_lettered, code, count);
  } else {
    for (const auto& [code, count] : flow_.skipped()) counts.skip(code, count);
  }
  if (ledger_) close_account(next);
  counts.records_out += encoded_;
  for (const auto& output : outputs_) {
    counts.records_out += output->take_records();
    if (RecordRouter* const router = output->router()) {
      for (const auto& [reason, values] : router->fallbacks()) counts.fall_back(reason, values);
      router->clear_counts();
    }
  }
  flow_.clear_counts();
  return step;
}

Error ChainCore::thrown_error(const std::string& what) const {
  const RecordMeta meta = batch_->meta(next);
  Error error = Error::fatal(ErrorCode::user_code, record_place(meta) + ", " + flow_.stage_label(flow_.running) +
                                                       ": the code of this stage threw " + what +
                                                       "; nothing from this record on is committed. Return Result<T> "
                                                       "from ops::try_map for what may fail");
  error.with("stage", flow_.stage_label(flow_.running))
      .with("partition", std::to_string(meta.partition_of_topic().value()))
      .with("offset", std::to_string(meta.offset.value()));
  return error;
}

}  // namespace millrace
