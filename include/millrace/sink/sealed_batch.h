// SPDX-License-Identifier: Apache-2.0
// SealedBatch: a chunk that takes no more records and is written as one. Unchanged over retries, with the same token on
// each.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "millrace/base/ids.h"
#include "millrace/base/result.h"
#include "millrace/encode/encoded_chunk.h"
#include "millrace/sink/spill_file.h"

#pragma GCC visibility push(default)
namespace millrace {

enum class SealReason { size, records, age, idle, boundary, lane_end, drain, pressure };
[[nodiscard]] std::string_view to_string(SealReason) noexcept;

/// Names one sealed batch within a run and over its retries: lane and a count that never repeats within the lane.
struct IdempotencyToken {
  LaneId lane;
  std::uint64_t sequence = 0;
  friend bool operator==(const IdempotencyToken&, const IdempotencyToken&) = default;
};

struct SealedBatch {
  EncodedChunk chunk;                  ///< bytes whole, footer and all, but for what was spilled
  std::unique_ptr<SpillFile> spilled;  ///< the beginning, on disk; null: all bytes are in `chunk`
  SealReason reason = SealReason::drain;
  IdempotencyToken token;
  SteadyTime sealed;  ///< when
  /// Batches with the same offsets and other bytes may come: a name that is made of offsets has to tell its bytes too.
  bool named_by_content = false;

  [[nodiscard]] std::uint64_t size() const noexcept { return (spilled ? spilled->size() : 0) + chunk.bytes.size(); }
  /// All bytes as one, wherever they lie; valid as long as the batch is unchanged. Fails (io, retryable) when what was
  /// spilled cannot be read back.
  [[nodiscard]] Result<std::string_view> body();
};

/// What a writer says of a durable batch.
struct Receipt {
  std::string location;             ///< the object's url, or whatever names where the records are; may be empty
  std::uint64_t bytes_written = 0;  ///< as stored
};

}  // namespace millrace
#pragma GCC visibility pop
