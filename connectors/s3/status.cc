// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/status.h"

#include <fmt/format.h>

#include "millrace/base/printable.h"

namespace millrace::s3_source {
namespace {

std::string age(UnixMicros then, UnixMicros now) {
  const std::int64_t seconds = (now - then) / 1000000;
  if (seconds < 0) return "in the future, by this clock";
  if (seconds < 120) return fmt::format("{}s ago", seconds);
  if (seconds < 7200) return fmt::format("{}m ago", seconds / 60);
  if (seconds < 172800) return fmt::format("{}h ago", seconds / 3600);
  return fmt::format("{}d ago", seconds / 86400);
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
      manifest.complete ? "complete"
      : manifest.owner.released
          ? "stopped; a run goes on from here"
          : fmt::format("kept by {}, heartbeat {}", manifest.owner.describe(), age(manifest.owner.heartbeat, now)),
      done, manifest.listing.objects, manifest.listing.objects - std::min(done, manifest.listing.objects));
  if (manifest.skipped.count > 0) text += fmt::format("  skipped   {}\n", skipped_text(manifest.skipped, SIZE_MAX));
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
    return fmt::format("all {} objects committed in {}{}", manifest.listing.objects, manifest_url, skipped);
  }
  return fmt::format("{} of {} objects committed in {}; run again to go on from there{}", done,
                     manifest.listing.objects, manifest_url, skipped);
}

}  // namespace millrace::s3_source
