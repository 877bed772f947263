// SPDX-License-Identifier: Apache-2.0
// ChainOutput: a chain's way into one of its lane's sinks. Of a source record all outputs are written or none: where a
// record can become only one, its encoder writes straight into the sink's open chunk and takes back what it began;
// where it can become several, they are staged here and handed over when the whole source record has gone through. Lane
// thread; owned by the chain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/ack/ack_ref.h"
#include "millrace/base/bytes.h"
#include "millrace/encode/record_router.h"
#include "millrace/record/record_meta.h"
#include "millrace/sink/lane_sink.h"

#pragma GCC visibility push(default)
namespace millrace {

class ChainOutput {
 public:
  /// `sink` outlives the output.
  ChainOutput(LaneSink& sink, bool staged)
      : sink_(&sink),
        staged_(staged),
        router_(sink.route_spec().empty() ? nullptr : std::make_unique<RecordRouter>(sink.route_spec())) {}

  [[nodiscard]] LaneSink& sink() noexcept { return *sink_; }
  /// Finds the route that begin_record() needs; null when the sink keeps no records apart.
  [[nodiscard]] RecordRouter* router() const noexcept { return router_.get(); }
  /// The batch's handle, for the run that begins.
  void begin_run(const AckRef& ack) noexcept { ack_ = &ack; }

  /// Where the next record's bytes go. `route` is copied. Ends with end_record or rollback_record.
  [[nodiscard]] ByteBuffer& begin_record(const RecordMeta& meta, std::string_view route) {
    begun_ = true;
    if (!staged_) return sink_->begin_record(meta, route);
    route_ = route;
    return staging_;
  }
  void end_record(const RecordMeta& meta) {
    begun_ = false;
    if (staged_) {
      routes_ += route_;
      ends_.push_back({staging_.size(), routes_.size()});
    } else {
      sink_->end_record(meta, *ack_);
      ++records_;
    }
  }
  void rollback_record() {
    begun_ = false;
    if (staged_) {
      staging_.truncate(ends_.empty() ? 0 : ends_.back().bytes);
    } else {
      sink_->rollback_record();
    }
  }

  /// The source record has gone through: what is staged goes to the sink. False when nothing was.
  bool commit(const RecordMeta& meta) {
    if (ends_.empty()) return false;
    Staged begin;
    for (const Staged& end : ends_) {
      const std::string_view route = std::string_view(routes_).substr(begin.route, end.route - begin.route);
      sink_->begin_record(meta, route).append(staging_.view().substr(begin.bytes, end.bytes - begin.bytes));
      sink_->end_record(meta, *ack_);
      begin = end;
    }
    records_ += ends_.size();
    clear();
    return true;
  }
  /// The source record has failed: nothing of it stays.
  void discard() {
    if (begun_) rollback_record();
    clear();
  }
  /// Records that reached the sink since the last call.
  [[nodiscard]] std::uint64_t take_records() noexcept { return std::exchange(records_, 0); }

 private:
  /// Where a staged record ends.
  struct Staged {
    std::size_t bytes = 0;
    std::size_t route = 0;
  };

  void clear() noexcept {
    ends_.clear();
    staging_.clear();
    routes_.clear();
  }

  LaneSink* sink_;
  const bool staged_;
  const std::unique_ptr<RecordRouter> router_;
  const AckRef* ack_ = nullptr;
  ByteBuffer staging_;
  std::string routes_;      ///< of the staged records, one behind the other
  std::string_view route_;  ///< of the record that is half written
  std::vector<Staged> ends_;
  std::uint64_t records_ = 0;
  bool begun_ = false;  ///< a record is half written
};

}  // namespace millrace
#pragma GCC visibility pop
