// SPDX-License-Identifier: Apache-2.0
// What a manifest says, for people and for programs: `millrace status` and /status. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "connectors/s3/manifest.h"
#include "connectors/s3/packed_listing.h"
#include "millrace/base/time.h"

namespace millrace::s3_source {

/// How far one lane is, counted in objects.
struct LaneStatus {
  std::uint64_t lane = 0;
  std::uint64_t objects = 0;
  std::uint64_t objects_done = 0;
  std::uint64_t records_in_progress = 0;  ///< committed of the object after those
  std::string key;                        ///< of the object at the position; empty without progress
};
[[nodiscard]] LaneStatus lane_status(const Manifest& manifest, std::uint64_t lane);
[[nodiscard]] std::uint64_t objects_done(const Manifest& manifest);

/// A few lines; times are told as ages at `now`.
[[nodiscard]] std::string status_text(const Manifest& manifest, const std::string& manifest_url, UnixMicros now);
/// One JSON document; of the objects that are set aside at most `most_aside` are listed, and all counted.
[[nodiscard]] std::string status_json(const Manifest& manifest, const std::string& manifest_url, UnixMicros now,
                                      std::size_t most_aside = kMostQuarantined);
/// One shard's manifest, where it has one, and where that is.
struct ShardStatus {
  std::string url;
  std::optional<Manifest> manifest;
};
/// All shards of one source together, by index; says when they saw different listings. At least one has a manifest.
[[nodiscard]] std::string shards_text(const std::vector<ShardStatus>& shards, UnixMicros now);
[[nodiscard]] std::string shards_json(const std::vector<ShardStatus>& shards, UnixMicros now);
/// What the shard that was saved last saw of all objects. Nothing when none was.
[[nodiscard]] std::optional<WholeListing> latest_whole(const std::vector<ShardStatus>& shards);
[[nodiscard]] bool same_whole(const std::vector<ShardStatus>& shards);
/// "the shards saw different listings: 6 objects (hash 01..) by shard 0, 2; ..."; empty when they saw the same.
[[nodiscard]] std::string listings_apart(const std::vector<ShardStatus>& shards);

/// One line of JSON, with its end, for one object of a drift report; docs/formats/manifest.md has its fields.
[[nodiscard]] std::string change_json(const ObjectChange& change);
/// The last line of a drift report.
[[nodiscard]] std::string change_total_json(const ListingDifference& difference, const std::string& manifest_url);
/// In its place for a shard whose objects cannot be compared with anything.
[[nodiscard]] std::string not_compared_json(std::string_view why, const std::string& manifest_url);
/// One line for the end of a run: what is committed and how to go on.
[[nodiscard]] std::string committed_summary(const Manifest& manifest, const std::string& manifest_url);

}  // namespace millrace::s3_source
