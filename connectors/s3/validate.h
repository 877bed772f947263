// SPDX-License-Identifier: Apache-2.0
// May this run go on where a manifest stopped? Compares it with the settings and with a fresh listing. Pure.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "connectors/s3/lane_trail.h"
#include "connectors/s3/listing.h"
#include "connectors/s3/manifest.h"
#include "millrace/connectors/s3.h"

namespace millrace::s3_source {

/// Where each lane begins.
struct Resume {
  std::vector<Position> starts;   ///< by lane; {0, 0} without progress
  std::vector<LaneTrail> trails;  ///< by lane, advanced to the start
  std::string listing_change;     ///< what changed behind every committed position, in words; empty: nothing
};

/// A run from the beginning.
[[nodiscard]] Resume fresh_start(const std::shared_ptr<const Listing>& listing, std::uint64_t lanes);

/// Checks identity, lanes and every position, in this order (docs/formats/manifest.md, Resuming). Each failure
/// (manifest for settings, drift for objects) names the field, the old and the new value and what to do. `whole`: with
/// a shard, what is listed now for all of them; only frozen: strict minds when that alone has changed.
[[nodiscard]] Result<Resume> validate(const Manifest& manifest, const SourceIdentity& identity, std::uint64_t lanes,
                                      Frozen frozen, const std::shared_ptr<const Listing>& listing,
                                      const std::optional<WholeListing>& whole);

}  // namespace millrace::s3_source
