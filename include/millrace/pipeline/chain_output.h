// SPDX-License-Identifier: Apache-2.0
// ChainOutput: a chain's way into one of its lane's sinks. Of a source record all outputs are written or none: where a
// record can become only one, its encoder writes straight into the sink's open chunk and takes back what it began;
// where it can become several, they are staged here and handed over when the whole source record has gone through. Lane
// thread; owned by the chain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "millrace/ack/ack_ref.h"
#include "millrace/base/bytes.h"
#include "millrace/record/record_meta.h"
#include "millrace/sink/lane_sink.h"

namespace millrace {

class ChainOutput {
 public:
  /// `sink` outlives the output.
  ChainOutput(LaneSink& sink, bool staged) : sink_(&sink), staged_(staged) {}

  [[nodiscard]] LaneSink& sink() noexcept { return *sink_; }
  /// The batch's handle, for the run that begins.
  void begin_run(const AckRef& ack) noexcept { ack_ = &ack; }

  /// Where the next record's bytes go. Ends with end_record or rollback_record.
  [[nodiscard]] ByteBuffer& begin_record(const RecordMeta& meta) {
    begun_ = true;
    return staged_ ? staging_ : sink_->begin_record(meta);
  }
  void end_record(const RecordMeta& meta) {
    begun_ = false;
    if (staged_) {
      ends_.push_back(staging_.size());
    } else {
      sink_->end_record(meta, *ack_);
      ++records_;
    }
  }
  void rollback_record() {
    begun_ = false;
    if (staged_) {
      staging_.truncate(ends_.empty() ? 0 : ends_.back());
    } else {
      sink_->rollback_record();
    }
  }

  /// The source record has gone through: what is staged goes to the sink. False when nothing was.
  bool commit(const RecordMeta& meta) {
    if (ends_.empty()) return false;
    std::size_t begin = 0;
    for (const std::size_t end : ends_) {
      sink_->begin_record(meta).append(staging_.view().substr(begin, end - begin));
      sink_->end_record(meta, *ack_);
      begin = end;
    }
    records_ += ends_.size();
    ends_.clear();
    staging_.clear();
    return true;
  }
  /// The source record has failed: nothing of it stays.
  void discard() {
    if (begun_) rollback_record();
    ends_.clear();
    staging_.clear();
  }
  /// Records that reached the sink since the last call.
  [[nodiscard]] std::uint64_t take_records() noexcept { return std::exchange(records_, 0); }

 private:
  LaneSink* sink_;
  const bool staged_;
  const AckRef* ack_ = nullptr;
  ByteBuffer staging_;
  std::vector<std::size_t> ends_;  ///< of the staged records in `staging_`
  std::uint64_t records_ = 0;
  bool begun_ = false;  ///< a record is half written
};

}  // namespace millrace
