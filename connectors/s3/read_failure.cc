// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/read_failure.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "millrace/base/printable.h"

namespace millrace::s3_source {
namespace {

constexpr std::string_view kStartOver = "start over with --reset and an emptied output, since what was written stays";

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
    case Taken::committed:
      break;
  }
  return fmt::format("Put the old one back, or {}", kStartOver);
}

/// The objects behind a missing one are dealt to other lanes, so all lanes' positions count.
std::string after_deletion(Taken taken) {
  if (taken == Taken::committed) return fmt::format("Put it back, or {}", kStartOver);
  return fmt::format(
      "Put it back, or run again without it: that goes on where it lies behind every committed position; otherwise {}",
      kStartOver);
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
      return Error::fatal(ErrorCode::drift,
                          fmt::format("object '{}' was overwritten after it was listed: its ETag was {} and is {} now; "
                                      "nothing of the new version was taken. {}",
                                      name, printable(listed.etag), now ? printable(now->value) : "not known",
                                      after_overwrite(taken)))
          .with("store", error.describe());
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
  const bool same_tag = read.info.etag.value == listed.etag;
  const bool same_time = listed.last_modified == kNoTimestamp || read.info.last_modified == kNoTimestamp ||
                         // HTTP dates have seconds
                         listed.last_modified / 1000000 == read.info.last_modified / 1000000;
  if (same_tag && same_time) return std::nullopt;
  return Error::fatal(
      ErrorCode::drift,
      fmt::format("object '{}' was overwritten after it was listed (ETag {} and {}, changed {} and {}). {}", name,
                  printable(listed.etag), printable(read.info.etag.value), to_rfc3339(listed.last_modified),
                  to_rfc3339(read.info.last_modified), after_overwrite(taken)));
}

}  // namespace millrace::s3_source
