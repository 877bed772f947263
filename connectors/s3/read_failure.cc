// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/read_failure.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "connectors/s3/etag_form.h"
#include "connectors/s3/way_out.h"
#include "millrace/base/printable.h"

namespace millrace::s3_source {
namespace {

/// Another version lies where this one was listed. Whatever lies behind the lane's position may have changed.
std::string after_overwrite(Taken taken) {
  switch (taken) {
    case Taken::nothing:
      return "No record of it was taken: run again, and the new version is read";
    case Taken::something:
      return fmt::format(
          "Run again: as long as no record of it is committed, the new version is read; otherwise put the old one back "
          "or {}",
          kStartOver);
    case Taken::set_aside:
      return std::string(kRetry);
    case Taken::committed:
      break;
  }
  return fmt::format("Put the old one back, or {}", kStartOver);
}

/// The objects behind a missing one are dealt to other lanes, so all lanes' positions count.
std::string after_deletion(Taken taken) {
  if (taken == Taken::set_aside) return fmt::format("Put it back; {}", kRetry);
  if (taken == Taken::committed) return fmt::format("Put it back, or {}", kStartOver);
  return fmt::format(
      "Put it back, or run again without it: that goes on where it lies behind every committed position; otherwise {}",
      kStartOver);
}

std::string shown(std::string_view etag) { return etag.empty() ? "none" : printable(etag); }

/// The store refuses a pinned read although the object is the one that was listed.
Error unpinnable(const ListedObject& listed, const std::string& name, const ETag& now, const Error& error) {
  const std::string why =
      now.pins() ? "so the store refuses its own ETag in If-Match"
                 : "and a weak ETag names no exact bytes; whatever stands before the store and makes it weak, as a "
                   "proxy that compresses, must let it pass, or be passed by";
  return Error::fatal(ErrorCode::bad_response,
                      fmt::format("object '{}' cannot be read as the version that was listed: the listing gives its "
                                  "ETag as {} and a read as {}, {}",
                                  name, printable(listed.etag), printable(now.value), why))
      .with("store", error.describe());
}

/// Another size than the listing has, or none of the bytes that were asked for (416), where no pin has told before.
Error another_size(const ListedObject& listed, const std::string& name, const Error& error, Taken taken,
                   const std::optional<ETag>& now) {
  const std::string is = now ? shown(now->value) : "not known";
  if (now && !listed.etag.empty() && opaque_tag(now->value) == opaque_tag(listed.etag)) {
    return Error::fatal(
               ErrorCode::drift,
               fmt::format(
                   "object '{}' was listed with {} bytes and is read with another size, although its ETag is {} in "
                   "both: the store's listing and its answers do not agree, or something between rewrites them. "
                   "{}; where that does not help, ask whoever runs the store",
                   name, listed.size, is, taken == Taken::set_aside ? kRetry : "Run again"))
        .with("store", error.describe());
  }
  return Error::fatal(ErrorCode::drift,
                      fmt::format("object '{}' has another size than when it was listed with {} bytes: its ETag was {} "
                                  "and is {} now; nothing of the new version was taken. {}",
                                  name, listed.size, shown(listed.etag), is, after_overwrite(taken)))
      .with("store", error.describe());
}

}  // namespace

Error read_failure(const ListedObject& listed, const std::string& name, const ObjectRead& read, Error error,
                   Taken taken, const std::optional<ETag>& now) {
  switch (error.code()) {
    case ErrorCode::not_found:
      return Error::fatal(
                 ErrorCode::drift,
                 fmt::format("object '{}' was deleted after it was listed; the objects must not change during a "
                             "backfill. {}",
                             name, after_deletion(taken)))
          .with("store", error.describe());
    case ErrorCode::precondition_failed:
      if (now && opaque_tag(now->value) == opaque_tag(listed.etag)) return unpinnable(listed, name, *now, error);
      return Error::fatal(ErrorCode::drift,
                          fmt::format("object '{}' was overwritten after it was listed: its ETag was {} and is {} now; "
                                      "nothing of the new version was taken. {}",
                                      name, printable(listed.etag), now ? shown(now->value) : "not known",
                                      after_overwrite(taken)))
          .with("store", error.describe());
    case ErrorCode::drift:
      return another_size(listed, name, error, taken, now);
    case ErrorCode::cancelled:
      return error;
    default: {
      const std::string after = read.tries.failed() > 1 ? fmt::format(", {} tries in a row", read.tries.failed()) : "";
      return std::move(error)
          .prefixed(fmt::format("object '{}', bytes {} to {}{}: ", name, read.offset + read.received,
                                read.offset + read.length - 1, after))
          .as(ErrorClass::fatal);
    }
  }
}

std::optional<Error> changed_between(const ListedObject& listed, const std::string& name, const ObjectRead& read,
                                     Taken taken) {
  if (ETag{std::string(listed.etag)}.pins()) return std::nullopt;
  const bool whole = read.offset == 0 && read.last;
  if (!whole && listed.etag.empty() && read.info.last_modified == kNoTimestamp) {
    return Error::fatal(
        ErrorCode::drift,
        fmt::format("object '{}' needs more than one read, and the store gives neither an ETag nor a time "
                    "of change, so nothing proves that they belong together",
                    name));
  }
  // A listing without ETags says nothing against one that comes with the read.
  const bool same_tag = listed.etag.empty() || opaque_tag(read.info.etag.value) == opaque_tag(listed.etag);
  const bool same_time = listed.last_modified == kNoTimestamp || read.info.last_modified == kNoTimestamp ||
                         // HTTP dates have seconds
                         listed.last_modified / 1000000 == read.info.last_modified / 1000000;
  if (same_tag && same_time) return std::nullopt;
  if (same_time && read.info.etag.empty()) {
    return Error::fatal(ErrorCode::drift,
                        fmt::format("object '{}' was listed with ETag {} and read without one, so nothing proves that "
                                    "it is the same",
                                    name, printable(listed.etag)));
  }
  return Error::fatal(
      ErrorCode::drift,
      fmt::format("object '{}' was overwritten after it was listed (ETag {} and {}, changed {} and {}). {}", name,
                  shown(listed.etag), shown(read.info.etag.value), to_rfc3339(listed.last_modified),
                  to_rfc3339(read.info.last_modified), after_overwrite(taken)));
}

Error another_version(const std::string& name, const ObjectRead& read, const std::string& before, Taken taken) {
  return Error::fatal(
      ErrorCode::drift,
      fmt::format("object '{}' was overwritten while it was read: up to byte {} its ETag was {}, and from there on it "
                  "is {}; the listing names none that would pin it. {}",
                  name, read.offset, shown(before), shown(read.info.etag.value), after_overwrite(taken)));
}

}  // namespace millrace::s3_source
