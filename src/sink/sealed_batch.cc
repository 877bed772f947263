// SPDX-License-Identifier: Apache-2.0
#include "millrace/sink/sealed_batch.h"

#include <utility>

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
  if (!chunk.bytes.empty() && !spilled->append(chunk.bytes.view())) {
    // No room behind the beginning, and none comes free before this is written: so the beginning comes back.
    MILLRACE_ASSIGN(const std::string_view beginning, spilled->map());
    ByteBuffer whole;
    whole.append(beginning);
    whole.append(chunk.bytes.view());
    chunk.bytes = std::move(whole);
    spilled.reset();
    return chunk.bytes.view();
  }
  chunk.bytes = ByteBuffer();
  return spilled->map();
}

}  // namespace millrace
