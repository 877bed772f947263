// SPDX-License-Identifier: Apache-2.0
#include "millrace/pipeline/dead_letters.h"

namespace millrace {

void DeadLetters::note(const Error& error, StageId stage) {
  if (!fault_) fault_ = Fault{stage, error.code(), error.message()};
}

bool DeadLetters::write(std::string_view payload, const RecordMeta& meta, const AckRef& ack) {
  const DeadLetter letter{flow_->stage_label(fault_->stage), fault_->reason, fault_->text, payload};
  format_.append(letter, meta, sink_->begin_record(meta));
  sink_->end_record(meta, ack);
  RecordFates::add(counts_, fault_->reason, 1);
  fault_.reset();
  return sink_->seal_due() || sink_->blocked();
}

}  // namespace millrace
