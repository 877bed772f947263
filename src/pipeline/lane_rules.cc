// SPDX-License-Identifier: Apache-2.0
#include "pipeline/lane_rules.h"

#include <fmt/format.h>

namespace millrace {
namespace {

bool fits(std::size_t column, std::size_t payloads) noexcept { return column == 0 || column == payloads; }

bool rises(std::span<const Offset> offsets) noexcept {
  for (std::size_t i = 1; i < offsets.size(); ++i) {
    if (offsets[i] <= offsets[i - 1]) return false;
  }
  return true;
}

}  // namespace

Error LaneRules::broken(std::string_view rule) const {
  return Error::fatal(ErrorCode::rule_broken,
                      fmt::format("lane {} (partition {}) breaks a rule of sources: {}. This is a mistake in the "
                                  "source's code; nothing behind the last good batch is committed",
                                  lane_.value(), partition_.value(), rule));
}

std::optional<Error> LaneRules::check(const PayloadBatch& batch) {
  early_idles_ = 0;
  const std::size_t count = batch.payloads.size();
  if (batch.partition != partition_) {
    return broken(
        fmt::format("a batch belongs to the lane's own partition, this one says {}", batch.partition.value()));
  }
  if (!batch.ack) return broken("a batch carries the AckRef issued for it; this one carries none");
  if (batch.ack.partition() != partition_) {
    return broken(fmt::format("a batch's AckRef is issued for the lane's own partition, this one is for {}",
                              batch.ack.partition().value()));
  }
  if (!fits(batch.offsets.size(), count) || !fits(batch.timestamps.size(), count) || !fits(batch.keys.size(), count) ||
      !fits(batch.headers.size(), count)) {
    return broken(fmt::format("a column is empty or has one entry per payload ({})", count));
  }
  const Offset settled = batch.ack.last_offset();
  if (count != 0) {
    const Offset first = batch.offset(0);
    if (first.value() < 0 || (last_ && first <= *last_)) {
      return broken(
          fmt::format("offsets rise strictly; {} comes after {}", first.value(), last_ ? last_->value() : -1));
    }
    if (!rises(batch.offsets)) return broken("offsets rise strictly within a batch");
    if (settled < batch.offset(count - 1)) {
      return broken(fmt::format("a batch's AckRef answers for its last record ({}), this one ends at {}",
                                batch.offset(count - 1).value(), settled.value()));
    }
  } else if (last_ && settled < *last_) {
    return broken(fmt::format("offsets do not go backwards; an empty batch ends at {} after {}", settled.value(),
                              last_->value()));
  }
  last_ = settled;
  return std::nullopt;
}

bool LaneRules::spins(Duration took, Duration allowed) {
  if (took >= allowed / 2) {
    early_idles_ = 0;
    return false;
  }
  if (early_idles_ < kEarlyIdles) ++early_idles_;
  if (early_idles_ < kEarlyIdles || warned_) return false;
  return warned_ = true;
}

}  // namespace millrace
