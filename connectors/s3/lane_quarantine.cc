// SPDX-License-Identifier: Apache-2.0
// The part of S3Lane that sets faulty objects aside (docs/adr/0011-quarantine.md): what was delivered of one is kept
// for the manifest, the rest is dropped, and the lane goes on with the next.
#include <fmt/format.h>

#include <utility>

#include "connectors/s3/lane.h"
#include "millrace/base/printable.h"

namespace millrace::s3_source {

bool S3Lane::set_aside(Offset failed, const Error& error) {
  if (!setup_.quarantine || !is_fault_of_object(error.code())) return false;
  const auto at = position_of(Watermark(failed.value()));
  if (!at) return false;
  fold(lent_.from, at->index - lent_.index);
  lent_ = {};
  note_fault(at->ordinal, at->index, error);
  // The batch may have been the object's last: then its ack ends the object, and there is nothing to leave.
  leaving_ = reading_;
  return true;
}

/// Settles what is left of the object as if it were complete.
PollResult S3Lane::leave_object() {
  leaving_ = false;
  release_piece();
  const std::uint64_t taken = reading_ ? reader_.stored_bytes() : 0;
  progress_->bytes_done.fetch_add(object().size - taken, memory_order_relaxed);
  if (reading_) reader_.start(nullptr);  // lets go of the bytes
  discard_ = 0;
  setup_.fetch->skip(id_.value(), ordinal_);
  return completion_batch(ordinal_);
}

/// Before the ack of anything behind it is let go, so that no position can pass it unseen.
void S3Lane::note_fault(std::uint64_t ordinal, std::uint64_t records, const Error& error) {
  QuarantinedObject object = aside(ordinal, records);
  const bool begun = reading_ || ordinal < ordinal_;
  object.byte = begun ? reader_.stored_bytes() : 0;
  object.code = to_string(error.code());
  object.reason = reason_of(error);
  const std::string name = setup_.url + printable(object.key);
  progress_->set_aside.add(std::move(object));
  setup_.metrics.objects_quarantined.add();
  const std::uint64_t kind = std::uint64_t{1} << static_cast<unsigned>(error.code());
  const bool told = (setup_.faults_told->fetch_or(kind, memory_order_relaxed) & kind) != 0;
  setup_.log.log(told ? LogLevel::debug : LogLevel::warn,
                 "an object is set aside, as on_object_error: quarantine asks; the manifest names it. Once it is "
                 "mended, run again with --retry-quarantined",
                 {{"object", name}, {"records_before", fmt::format("{}", records)}, {"error", error.describe()}});
}

void S3Lane::fold(std::size_t from, std::size_t count) {
  for (std::size_t i = from; i < from + count; ++i) records_hash_.fold(frames_[i]);
}

}  // namespace millrace::s3_source
