// SPDX-License-Identifier: Apache-2.0
// Resolution: how one batch ended, as plain numbers; all that travels from the data plane to the checkpointer.
#pragma once

#include "millrace/base/ids.h"

#pragma GCC visibility push(default)
namespace millrace {

enum class AckStatus {
  delivered,
  put_off,  ///< not written, on purpose: the watermark rests before it, and the next run reads it again
  failed,
};

struct Resolution {
  PartitionId partition;
  Epoch epoch;
  BatchSeq seq;
  Offset last_offset;
  AckStatus status = AckStatus::delivered;
};

}  // namespace millrace
#pragma GCC visibility pop
