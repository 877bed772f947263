// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/validate.h"

#include <fmt/format.h>

#include "connectors/s3/rolling_hash.h"
#include "millrace/base/printable.h"
#include "millrace/store/object_store.h"

namespace millrace::s3_source {
namespace {

constexpr std::string_view kStartOver =
    "to read everything again, start over with --reset or give another checkpoint.url; what was written stays, so "
    "empty the output first";

Error other_settings(std::string_view field, std::string_view was, std::string_view is) {
  return Error::fatal(
      ErrorCode::manifest,
      fmt::format("{} was {} and is {} now; the positions in the manifest mean nothing under it. Set it "
                  "back; {}",
                  field, was, is, kStartOver));
}

Error drift(std::uint64_t lane, const Position& at, std::string_view field, std::string_view was, std::string_view is) {
  return Error::fatal(
      ErrorCode::drift,
      fmt::format("lane {} is committed up to its object number {}, whose {} was {} and is {} now: the objects at or "
                  "before a committed position must not change (keys added, removed or overwritten). Put them back and "
                  "run again; {}",
                  lane, at.ordinal, field, was, is, kStartOver));
}

Result<void> check_settings(const Manifest& manifest, const SourceIdentity& identity, std::uint64_t lanes) {
  const auto was = manifest.identity.fields();
  const auto is = identity.fields();
  for (std::size_t i = 0; i < is.size(); ++i) {
    if (was[i] != is[i]) return fail(other_settings(is[i].first, was[i].second, is[i].second));
  }
  if (manifest.lanes != lanes) {
    return fail(other_settings("lanes", fmt::format("{}", manifest.lanes), fmt::format("{}", lanes)));
  }
  return {};
}

Result<void> check_position(const LanePosition& old, LaneTrail& trail) {
  const Position at = old.position();
  const std::string was = fmt::format("'{}'", printable(old.key));
  if (at.ordinal >= trail.objects()) {
    return fail(drift(old.lane, at, "key", was, fmt::format("gone: the lane has {} objects", trail.objects())));
  }
  MILLRACE_ASSIGN(const LanePosition now, trail.advance(old.watermark));
  if (now.key != old.key) return fail(drift(old.lane, at, "key", was, fmt::format("'{}'", printable(now.key))));
  if (now.etag != old.etag) {
    return fail(drift(old.lane, at, fmt::format("('{}') ETag", printable(old.key)), printable(old.etag),
                      now.etag.empty() ? "missing" : printable(now.etag)));
  }
  if (now.prefix_hash != old.prefix_hash) {
    return fail(drift(old.lane, at, "prefix hash (of its object and all before it)", to_hex(old.prefix_hash),
                      to_hex(now.prefix_hash)));
  }
  const bool inside = at.index != 0 && !at.object_complete();
  if (inside && !ETag{now.etag}.pins()) {
    return fail(Error::fatal(
        ErrorCode::drift,
        fmt::format(
            "lane {} stopped inside '{}', {} records in, but the store gives {} ETag for it: nothing proves that "
            "it is still the same object, so its records cannot be counted off; {}",
            old.lane, printable(old.key), at.index, now.etag.empty() ? "no" : "only a weak", kStartOver)));
  }
  return {};
}

}  // namespace

Resume fresh_start(const std::shared_ptr<const Listing>& listing, std::uint64_t lanes) {
  Resume resume;
  for (std::uint64_t lane = 0; lane < lanes; ++lane) {
    resume.starts.emplace_back();
    resume.trails.emplace_back(listing, lane, lanes);
  }
  return resume;
}

Result<Resume> validate(const Manifest& manifest, const SourceIdentity& identity, std::uint64_t lanes, Frozen frozen,
                        const std::shared_ptr<const Listing>& listing, const std::optional<WholeListing>& whole) {
  MILLRACE_TRY(check_settings(manifest, identity, lanes));
  Resume resume = fresh_start(listing, lanes);
  for (const LanePosition& position : manifest.positions) {
    MILLRACE_TRY(check_position(position, resume.trails[position.lane]));
    resume.starts[position.lane] = position.position();
  }
  if (manifest.listing.objects != listing->size() || manifest.listing.hash != listing->hash()) {
    resume.listing_change =
        fmt::format("the listing had {} objects with {} bytes and has {} with {} now", manifest.listing.objects,
                    manifest.listing.bytes, listing->size(), listing->bytes());
    if (frozen == Frozen::strict) {
      return fail(Error::fatal(
          ErrorCode::drift,
          fmt::format("{} (hash {} and {}), and frozen: strict allows no change. "
                      "Put the objects back and run again; {}",
                      resume.listing_change, to_hex(manifest.listing.hash), to_hex(listing->hash()), kStartOver)));
    }
  }
  if (frozen == Frozen::strict && whole && manifest.whole && *manifest.whole != *whole) {
    return fail(Error::fatal(
        ErrorCode::drift,
        fmt::format("all shards together had {} objects with {} bytes (hash {}) and have {} with {} ({}) now, and "
                    "frozen: strict allows no change. Put the objects back and run again; {}",
                    manifest.whole->objects, manifest.whole->bytes, to_hex(manifest.whole->hash), whole->objects,
                    whole->bytes, to_hex(whole->hash), kStartOver)));
  }
  return resume;
}

}  // namespace millrace::s3_source
