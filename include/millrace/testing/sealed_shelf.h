// SPDX-License-Identifier: Apache-2.0
// SealedShelf: a queue of sealed batches that takes all and keeps them, for tests of what a lane seals. One thread.
#pragma once

#include <utility>
#include <vector>

#include "millrace/sink/lane_sink.h"

#pragma GCC visibility push(default)
namespace millrace::testing {

class SealedShelf final : public SealedBatchQueue {
 public:
  bool try_push(SealedBatch& batch) override {
    batches.push_back(std::move(batch));
    return true;
  }
  void ask(std::shared_ptr<RecallRequest> request) override { request->answer(recall); }
  ByteBuffer take_buffer() override { return std::exchange(recycled, ByteBuffer()); }

  Recall recall;        ///< what a lane is answered
  ByteBuffer recycled;  ///< what the next file grows in
  std::vector<SealedBatch> batches;
};

}  // namespace millrace::testing
#pragma GCC visibility pop
