// SPDX-License-Identifier: Apache-2.0
// LaneTrail: turns a lane's watermark into the position that the manifest keeps, with the rolling hash of everything
// the lane has behind it. Moves forward only. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>

#include "connectors/s3/listing.h"
#include "connectors/s3/manifest.h"
#include "connectors/s3/rolling_hash.h"
#include "millrace/base/result.h"

namespace millrace::s3_source {

class LaneTrail {
 public:
  LaneTrail(std::shared_ptr<const Listing> listing, std::uint64_t lane, std::uint64_t lanes)
      : listing_(std::move(listing)), lane_(lane), lanes_(lanes) {}

  /// The position of `watermark`. Fails (drift) when it lies outside the lane's objects or behind one given before.
  [[nodiscard]] Result<LanePosition> advance(Watermark watermark);
  [[nodiscard]] std::uint64_t objects() const noexcept { return listing_->objects_of_lane(lane_, lanes_); }

 private:
  std::shared_ptr<const Listing> listing_;
  std::uint64_t lane_;
  std::uint64_t lanes_;
  RollingHash hash_;
  std::uint64_t hashed_ = 0;  // objects in hash_
};

}  // namespace millrace::s3_source
