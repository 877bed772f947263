// SPDX-License-Identifier: Apache-2.0
// LaneProgress: how far a lane is, written by the lane once per batch, read by anybody.
#pragma once

#include <cstdint>

#include "millrace/base/sync.h"

namespace millrace::s3_source {

struct LaneProgress {
  Atomic<std::uint64_t> objects_done{0};  ///< read to their end, those of earlier runs included
  Atomic<std::uint64_t> bytes_done{0};    ///< stored bytes of them and of the object being read
};

}  // namespace millrace::s3_source
