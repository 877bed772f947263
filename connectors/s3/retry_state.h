// SPDX-License-Identifier: Apache-2.0
// RetryState: what is still set aside while a retry goes on, and what the manifest says of the objects that are not any
// more: they are committed as the versions that were read, so positions and listing are pinned to these from then on.
// Control thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "connectors/s3/listing.h"
#include "connectors/s3/manifest.h"
#include "connectors/s3/offset.h"
#include "connectors/s3/quarantine.h"
#include "connectors/s3/route.h"

namespace millrace::s3_source {

class RetryState {
 public:
  /// `manifest` is complete, and pinned to `listing`; `visits`: of every lane, what it says is set aside.
  RetryState(std::shared_ptr<const Listing> listing, std::vector<std::vector<Visit>> visits, const Manifest& manifest);

  /// What has been set aside once more, before a position that passes any of it.
  void set_aside_again(const Quarantine& again);
  [[nodiscard]] bool is_aside_again(std::uint64_t lane, std::uint64_t ordinal) const {
    return again_.contains(place(lane, ordinal));
  }
  /// The records of `lane` before `at` are durable.
  void advance(std::uint64_t lane, Position at);

  [[nodiscard]] const Quarantine& left() const noexcept { return left_; }
  /// Every object has been read, or set aside once more.
  [[nodiscard]] bool done() const noexcept { return left_.size() == again_.size(); }
  /// What an object that was visited is committed as; nothing while it is set aside.
  [[nodiscard]] const Visit::Version* mended(std::uint64_t lane, std::uint64_t ordinal) const;

  // For the manifest:
  /// Positions that are pinned anew since the last call.
  [[nodiscard]] std::vector<LanePosition> take_positions();
  [[nodiscard]] const Manifest::Listed& listed();
  /// With a shard: `whole` with the objects as they are committed now.
  [[nodiscard]] const std::optional<WholeListing>& whole() const noexcept { return whole_; }

 private:
  using Place = std::uint64_t;  // in the listing
  using Mended = std::map<Place, Visit::Version>;
  [[nodiscard]] Place place(std::uint64_t lane, std::uint64_t ordinal) const { return ordinal * visits_.size() + lane; }
  void take_out(std::uint64_t lane, const Visit& visit);
  template <class Each>
  void each_from(Place first, Place step, Place end, const Each& each) const;

  const std::shared_ptr<const Listing> listing_;
  const std::vector<std::vector<Visit>> visits_;
  Quarantine left_;
  std::set<Place> again_;                // of these, those that have had their turn
  Mended mended_;                        // the others
  std::vector<LanePosition> positions_;  // by lane
  std::set<std::uint64_t> moved_;        // lanes whose position is to be pinned anew
  Manifest::Listed listed_;
  bool listed_anew_ = false;  // something has been taken out since
  std::optional<WholeListing> whole_;
};

}  // namespace millrace::s3_source
