// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/status.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "connectors/s3/rolling_hash.h"
#include "millrace/base/printable.h"

namespace millrace::s3_source {
namespace {

constexpr std::size_t kAsideNamed = 10;

std::string age(UnixMicros then, UnixMicros now) {
  const std::int64_t seconds = (now - then) / 1000000;
  if (seconds < 0) return "in the future, by this clock";
  if (seconds < 120) return fmt::format("{}s ago", seconds);
  if (seconds < 7200) return fmt::format("{}m ago", seconds / 60);
  if (seconds < 172800) return fmt::format("{}h ago", seconds / 3600);
  return fmt::format("{}d ago", seconds / 86400);
}

std::string state_text(const Manifest& manifest, UnixMicros now) {
  if (manifest.owner.released) return manifest.complete ? "complete" : "stopped";
  // A complete one has an owner while what is set aside is retried.
  return fmt::format("{}kept by {}, heartbeat {}", manifest.complete ? "complete; retried, and " : "",
                     manifest.owner.describe(), age(manifest.owner.heartbeat, now));
}

/// "3 archived objects were left out: 'a', 'b' and 1 more".
std::string skipped_text(const Manifest::Skipped& skipped, std::size_t most_named) {
  std::string names;
  const std::size_t named = std::min(most_named, skipped.keys.size());
  for (std::size_t i = 0; i < named; ++i)
    names += fmt::format("{}'{}'", i == 0 ? "" : ", ", printable(skipped.keys[i]));
  if (skipped.count > named) names += fmt::format(" and {} more", skipped.count - named);
  return fmt::format("{} archived object{} left out: {}", skipped.count, skipped.count == 1 ? " was" : "s were", names);
}

/// Those that are set aside, and why; a line each.
std::string aside_text(const Quarantine& quarantine, std::size_t most_named) {
  if (quarantine.empty()) return "";
  std::string text = fmt::format(
      "  set aside {} object{} could not be read; once mended, `millrace run FILE --retry-quarantined` reads {}\n",
      quarantine.size(), quarantine.size() == 1 ? "" : "s", quarantine.size() == 1 ? "it" : "them");
  const std::size_t named = std::min(most_named, quarantine.size());
  for (std::size_t i = 0; i < named; ++i) {
    const QuarantinedObject& one = quarantine[i];
    text += fmt::format("    '{}', {} records delivered, fault met within its first {} of {} bytes ({}): {}\n",
                        printable(one.key), one.retry ? one.retry->records : one.records, one.byte, one.size, one.code,
                        printable(one.reason));
  }
  if (quarantine.size() > named)
    text += fmt::format("    and {} more; --format json has all\n", quarantine.size() - named);
  return text;
}

}  // namespace

LaneStatus lane_status(const Manifest& manifest, std::uint64_t lane) {
  LaneStatus status{.lane = lane};
  const std::uint64_t all = manifest.listing.objects;
  status.objects = lane >= all ? 0 : (all - lane + manifest.lanes - 1) / manifest.lanes;
  if (const LanePosition* at = manifest.position(lane)) {
    const Position position = at->position();
    status.objects_done = position.ordinal + (position.object_complete() ? 1 : 0);
    status.records_in_progress = position.object_complete() ? 0 : position.index;
    status.key = at->key;
  }
  return status;
}

std::uint64_t objects_done(const Manifest& manifest) {
  std::uint64_t done = 0;
  for (std::uint64_t lane = 0; lane < manifest.lanes; ++lane) done += lane_status(manifest, lane).objects_done;
  return done;
}

std::string status_text(const Manifest& manifest, const std::string& manifest_url, UnixMicros now) {
  const std::uint64_t done = objects_done(manifest);
  std::string text = fmt::format(
      "{}\n  manifest  {}, saved {}\n  state     {}\n  objects   {} of {} committed, {} left\n",
      printable(manifest.identity.url), manifest_url, age(manifest.updated, now),
      !manifest.complete && manifest.owner.released ? "stopped; a run goes on from here" : state_text(manifest, now),
      done, manifest.listing.objects, manifest.listing.objects - std::min(done, manifest.listing.objects));
  if (manifest.skipped.count > 0) text += fmt::format("  skipped   {}\n", skipped_text(manifest.skipped, SIZE_MAX));
  text += aside_text(manifest.quarantined, kAsideNamed);
  for (std::uint64_t lane = 0; lane < manifest.lanes; ++lane) {
    const LaneStatus status = lane_status(manifest, lane);
    text += fmt::format("  lane {:<4} {} of {} objects", lane, status.objects_done, status.objects);
    if (status.records_in_progress > 0) {
      text += fmt::format(", {} records into '{}'", status.records_in_progress, printable(status.key));
    }
    text += '\n';
  }
  return text;
}

std::optional<WholeListing> latest_whole(const std::vector<ShardStatus>& shards) {
  const Manifest* latest = nullptr;
  for (const ShardStatus& shard : shards) {
    if (shard.manifest && (latest == nullptr || shard.manifest->updated > latest->updated)) latest = &*shard.manifest;
  }
  return latest == nullptr ? std::nullopt : latest->whole;
}

bool same_whole(const std::vector<ShardStatus>& shards) {
  const auto latest = latest_whole(shards);
  return std::ranges::all_of(
      shards, [&](const ShardStatus& shard) { return !shard.manifest || shard.manifest->whole == latest; });
}

std::string listings_apart(const std::vector<ShardStatus>& shards) {
  if (same_whole(shards)) return "";
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::string> seen;  // which shards, by objects and hash
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const auto& manifest = shards[i].manifest;
    if (!manifest || !manifest->whole) continue;
    std::string& who = seen[{manifest->whole->objects, manifest->whole->hash}];
    who += fmt::format("{}{}", who.empty() ? "shard " : ", ", i);
  }
  std::string listings;
  for (const auto& [listing, who] : seen) {
    listings += fmt::format("{}{} objects (hash {}) by {}", listings.empty() ? "" : "; ", listing.first,
                            to_hex(listing.second), who);
  }
  return "the shards saw different listings: " + listings;
}

std::string shards_text(const std::vector<ShardStatus>& shards, UnixMicros now) {
  std::string url;
  std::string lines;
  Quarantine aside;
  std::uint64_t done = 0;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const auto& manifest = shards[i].manifest;
    if (!manifest) {
      lines += fmt::format("  shard {:<4} nothing was run yet, no manifest at {}\n", i, shards[i].url);
      continue;
    }
    url = printable(manifest->identity.url);
    const std::uint64_t own = objects_done(*manifest);
    done += own;
    aside.insert(aside.end(), manifest->quarantined.begin(), manifest->quarantined.end());
    lines += fmt::format("  shard {:<4} {}, {} of {} objects, saved {} in {}\n", i, state_text(*manifest, now), own,
                         manifest->listing.objects, age(manifest->updated, now), shards[i].url);
  }
  const std::uint64_t all = latest_whole(shards).value_or(WholeListing{}).objects;
  std::string text = fmt::format("{} in {} shards\n  objects   {} of {} committed, {} left\n{}", url, shards.size(),
                                 done, all, all - std::min(done, all), lines);
  text += aside_text(aside, kAsideNamed);
  const std::string apart = listings_apart(shards);
  if (apart.empty()) return text;
  return text + fmt::format(
                    "  warning   {}. What came or went in between may be in none of them: run those again that saw an "
                    "older one\n",
                    apart);
}

std::string committed_summary(const Manifest& manifest, const std::string& manifest_url) {
  const std::uint64_t done = objects_done(manifest);
  const std::string skipped =
      manifest.skipped.count == 0
          ? ""
          : fmt::format(
                "; {} (the manifest lists them under \"skipped\"). Once they are restored, read them with "
                "another checkpoint.url and an include that names them",
                skipped_text(manifest.skipped, 3));
  if (manifest.complete) {
    const std::size_t aside = manifest.quarantined.size();
    return fmt::format("all {} objects committed{} in {}{}", manifest.listing.objects,
                       aside == 0 ? "" : fmt::format(", {} of them set aside,", aside), manifest_url, skipped);
  }
  return fmt::format("{} of {} objects committed in {}; run again to go on from there{}", done,
                     manifest.listing.objects, manifest_url, skipped);
}

}  // namespace millrace::s3_source
