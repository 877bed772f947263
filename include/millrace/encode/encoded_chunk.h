// SPDX-License-Identifier: Apache-2.0
// EncodedChunk: the bytes of the records that go to one place together, and the batches they answer for. Here borrowing
// ends: the chunk owns its bytes. Open it belongs to a lane; sealed it moves to the I/O threads.
#pragma once

#include <cstdint>
#include <memory>

#include "millrace/ack/ack_ref.h"
#include "millrace/base/bytes.h"
#include "millrace/base/ids.h"
#include "millrace/record/record_meta.h"

namespace millrace {

struct EncodedChunk {
  ByteBuffer bytes;
  std::uint64_t records = 0;  ///< encoded records, which may be more or fewer than source records
  PartitionId partition;
  Offset first_offset;  ///< of the source records in here; meaningless while records == 0
  Offset last_offset;
  UnixMicros first_timestamp = kNoTimestamp;  ///< of the first record
  UnixMicros opened_unix = kNoTimestamp;      ///< wall time of the first append
  SteadyTime opened;                          ///< when the first record was appended
  SteadyTime appended;                        ///< when the last one was
  std::shared_ptr<const Origin> origin;       ///< of the first record; null when it had none
  AckSet acks;
};

}  // namespace millrace
