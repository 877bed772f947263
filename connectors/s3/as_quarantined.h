// SPDX-License-Identifier: Apache-2.0
// What a resume sees of objects that are set aside: as the manifest names them, whatever stands there now, so that
// mending or deleting one is no drift (ADR-0011). Pure.
#pragma once

#include "connectors/s3/listing.h"
#include "connectors/s3/quarantine.h"
#include "connectors/s3/shard.h"
#include "millrace/base/result.h"

namespace millrace::s3_source {

/// `now`, with the objects of `quarantine` as they were listed when they were set aside: in the place of what has their
/// key now, and put in where nothing has.
[[nodiscard]] Result<Listing> as_quarantined(const Listing& now, const Quarantine& quarantine);

/// The same of what all shards together list, of which `now` is this one's part.
[[nodiscard]] WholeListing as_quarantined(WholeListing whole, const Listing& now, const Quarantine& quarantine);

}  // namespace millrace::s3_source
