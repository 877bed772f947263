// SPDX-License-Identifier: Apache-2.0
// What a read that will not succeed means for the backfill, said for the one who has to put it right. I/O threads.
#pragma once

#include <optional>
#include <string>

#include "connectors/s3/listing.h"
#include "connectors/s3/object_read.h"
#include "millrace/base/error.h"
#include "millrace/store/object_store.h"

namespace millrace::s3_source {

/// How much of an object the run has taken: decides what a person can do when it is not what was listed.
enum class Taken {
  nothing,    ///< another run may read whatever is there then
  something,  ///< records of it are on their way, committed or not
  committed,  ///< some were committed before, or no change at all is allowed (frozen: strict)
  set_aside,  ///< whatever it has taken: a faulty object is set aside, and read again when a person says so
};

/// `error` ended the read of `listed` for good. Objects that are gone or overwritten become drift, with the old ETag
/// and the one that stands there `now`, where that is known. `name` is the object for people.
[[nodiscard]] Error read_failure(const ListedObject& listed, const std::string& name, const ObjectRead& read,
                                 Error error, Taken taken, const std::optional<ETag>& now = std::nullopt);

/// Reads of one object that no ETag pins must at least agree with the listing in what the store says of it: nothing
/// when they do.
[[nodiscard]] std::optional<Error> changed_between(const ListedObject& listed, const std::string& name,
                                                   const ObjectRead& read, Taken taken);

/// A read of an object that no ETag pins came with another ETag than the reads before it.
[[nodiscard]] Error another_version(const std::string& name, const ObjectRead& read, const std::string& before,
                                    Taken taken);

}  // namespace millrace::s3_source
