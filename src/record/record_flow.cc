// SPDX-License-Identifier: Apache-2.0
#include "millrace/record/record_flow.h"

#include <algorithm>
#include <utility>

#include "millrace/ack/ledger.h"
#include "millrace/base/printable.h"
#include "millrace/record/record_place.h"

namespace millrace {

StageId RecordFlow::add_stage(std::string label) {
  labels_.push_back(std::move(label));
  return static_cast<StageId>(labels_.size() - 1);
}

bool RecordFlow::reject(Error error, OnError policy, StageId stage, const RecordMeta& meta) {
  const bool skip = policy == OnError::skip && error.is_record();
  const ErrorCode code = error.code();
  if (skip) {
    if (!rejected_as) rejected_as = code;
    if (kept_by != nullptr) kept_by->note(error, stage);
    RecordFates::add(skipped_, code, 1);
    // Formatting each of a million bad records would cost more than reading them.
    if (std::find(logged_.begin(), logged_.end(), code) != logged_.end()) return true;
    logged_.push_back(code);
  }
  Error placed = std::move(error).prefixed(record_place(meta) + ", " + stage_label(stage) + ": ");
  if (skip) {
    log_.warn("skipped a record, the first of its kind in this lane; others are counted",
              {{"reason", std::string(to_string(code))}, {"error", placed.message()}});
    return true;
  }
  placed.with("partition", std::to_string(meta.partition_of_topic().value()))
      .with("offset", std::to_string(meta.offset.value()));
  if (meta.origin != nullptr && !meta.origin->object.empty()) placed.with("object", printable_key(meta.origin->object));
  error_ = std::move(placed);
  return false;
}

}  // namespace millrace
