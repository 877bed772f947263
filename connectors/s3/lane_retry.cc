// SPDX-License-Identifier: Apache-2.0
// The part of S3Lane that knows of records that are written already: counts them off, and, where an object was set
// aside and is another version now, proves that they are the same (docs/adr/0011-quarantine.md).
#include <fmt/format.h>

#include <string>

#include "connectors/s3/lane.h"
#include "connectors/s3/way_out.h"

namespace millrace::s3_source {
namespace {

/// Of a retried object that is not what it was.
std::string way_out(std::uint64_t records) {
  if (records == 0) return "Put a copy in its place; where it is lost for good, an empty object does";
  return fmt::format(
      "Put an object in its place that begins with the same {} records, and no other where the rest is lost for good; "
      "or {}",
      records, kStartOver);
}

Error drift(std::string_view what, std::uint64_t records) {
  return Error::fatal(ErrorCode::drift, fmt::format("{}. {}", what, way_out(records)));
}

}  // namespace

/// May the object here be read again?
Result<void> S3Lane::check_visit() const {
  const Visit* visit = route_.visit();
  if (visit == nullptr) return {};
  const std::uint64_t records = visit->was.records;
  if (!visit->now) {
    return fail(
        located(drift("it is not listed any more: it was deleted, or the filters (sizes, modified_before and "
                      "modified_after) leave out what stands there now",
                      records)));
  }
  if (records > 0 && !object().has_bytes()) {
    return fail(
        located(drift(fmt::format("it is empty now, and its first {} records are written already", records), records)));
  }
  const bool same =
      visit->written() > records || (visit->now->etag == visit->was.etag && ETag{visit->now->etag}.pins());
  if (records > 0 && visit->was.records_hash == kHashUnknown && !same) {
    return fail(located(
        drift(fmt::format("its first {} records are written already, and they could not be read again when it was set "
                          "aside, so that only the same ETag ({}) would prove that they are the same; it is {} now",
                          records, visit->was.etag, visit->now->etag),
              records)));
  }
  return {};
}

/// The first `count` frames are written already.
Result<void> S3Lane::count_off(std::size_t count) {
  discard_ -= count;
  const Visit* visit = route_.visit();
  if (visit == nullptr) {
    if (setup_.quarantine) fold(0, count);
    index_ += count;
    return {};
  }
  for (std::size_t i = 0; i < count; ++i) {
    records_hash_.fold(frames_[i]);
    if (++index_ != visit->was.records) continue;
    proven_ = visit->was.records_hash == kHashUnknown || visit->was.records_hash == records_hash_.value();
    if (proven_) continue;
    discard_ += count - i - 1;
    return fail(located(drift(
        fmt::format("its first {} records, which are written already, are others now; nothing of it was delivered",
                    index_),
        index_)));
  }
  return {};
}

Error S3Lane::too_short() const {
  if (route_.visit() != nullptr) {
    return drift(fmt::format("it has {} records, and {} of it are written already", index_, index_ + discard_),
                 route_.visit()->was.records);
  }
  return Error::fatal(
      ErrorCode::drift,
      fmt::format("it has {} records, but {} of it are committed: it is not the object that was read. {}", index_,
                  index_ + discard_,
                  setup_.quarantine ? fmt::format("Put the old one back; {}", kRetry)
                                    : fmt::format("Put the old one back, or {}", kStartOver)));
}

/// How the manifest names an object whose first `records` records are delivered.
QuarantinedObject S3Lane::aside(std::uint64_t ordinal, std::uint64_t records) const {
  const std::uint64_t hash = discard_ > 0 || records == 0 ? kHashUnknown : records_hash_.value();
  if (const Visit* visit = route_.visit(ordinal)) {
    QuarantinedObject object = visit->was;
    // No further than before: what is known of it stays.
    if (discard_ > 0 || records <= object.records || (object.records > 0 && !proven_)) return object;
    object.records = records;
    object.records_hash = hash;
    object.retry.reset();
    return object;
  }
  const ListedObject listed = route_.object(ordinal);
  QuarantinedObject object;
  object.lane = id_.value();
  object.ordinal = ordinal;
  object.key = listed.key;
  object.etag = listed.etag;
  object.size = listed.size;
  object.records = records;
  object.records_hash = hash;
  return object;
}

}  // namespace millrace::s3_source
