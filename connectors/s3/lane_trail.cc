// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/lane_trail.h"

#include <fmt/format.h>

namespace millrace::s3_source {

Result<LanePosition> LaneTrail::advance(Watermark watermark) {
  MILLRACE_ASSIGN(const Position at, position_of(watermark));
  if (at.ordinal >= objects() || at.ordinal + 1 < hashed_) {
    return fail(Error::fatal(
        ErrorCode::drift, fmt::format("lane {}: the watermark {} means object {}, but the lane has {} objects and is "
                                      "already {} far",
                                      lane_, watermark.value(), at.ordinal, objects(), hashed_)));
  }
  for (; hashed_ <= at.ordinal; ++hashed_) {
    const ListedObject object = listing_->object_of_lane(lane_, lanes_, hashed_);
    hash_.fold(object.key, object.etag, object.size);
  }
  const ListedObject object = listing_->object_of_lane(lane_, lanes_, at.ordinal);
  return LanePosition{lane_, watermark, std::string(object.key), std::string(object.etag), hash_.value()};
}

}  // namespace millrace::s3_source
