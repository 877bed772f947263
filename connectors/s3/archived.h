// SPDX-License-Identifier: Apache-2.0
// Are the objects of an archive class really there to be read? A listing cannot tell a restored copy from one that is
// not, so each is asked for one byte. Blocks; one I/O thread.
#pragma once

#include <string>

#include "connectors/s3/listing.h"
#include "connectors/s3/retry_policy.h"
#include "millrace/base/stop_signal.h"
#include "millrace/base/time.h"
#include "millrace/store/object_store.h"

namespace millrace::s3_source {

/// Succeeds when every archived object of the listing can be read. Fails with the first that cannot, with the number of
/// archived objects and what to do. `url` is what a key is put behind.
[[nodiscard]] Result<void> check_archived(ObjectStore& store, const Listing& listing, const std::string& url,
                                          const RetryPolicy& retry, std::size_t requests_in_flight, Clock& clock,
                                          Random& random, StopSignal& stop);

}  // namespace millrace::s3_source
