// SPDX-License-Identifier: Apache-2.0
#include "millrace/sink/sealed_batch.h"

namespace millrace {

std::string_view to_string(SealReason reason) noexcept {
  switch (reason) {
    case SealReason::size:
      return "size";
    case SealReason::records:
      return "records";
    case SealReason::age:
      return "age";
    case SealReason::idle:
      return "idle";
    case SealReason::boundary:
      return "boundary";
    case SealReason::lane_end:
      return "lane_end";
    case SealReason::drain:
      return "drain";
    case SealReason::pressure:
      return "pressure";
  }
  return "unknown";
}

Result<std::string_view> SealedBatch::body() {
  if (!spilled) return chunk.bytes.view();
  MILLRACE_ASSIGN(const std::string_view all, spilled->map(chunk.bytes.view()));
  chunk.bytes = ByteBuffer();
  return all;
}

}  // namespace millrace
