// SPDX-License-Identifier: Apache-2.0
// Baton: state that several threads bring events to, worked on by one of them at a time. Who finds it taken leaves; who
// holds it looks again before it lets go. So an event is dealt with at once by a thread that is awake, and nobody
// waits.
#pragma once

#include "millrace/base/sync.h"

namespace millrace::s3_source {

class Baton {
 public:
  /// Runs `work` on this thread, or sees to it that the thread that holds the baton runs its own once more. What
  /// happened before this call is seen by that run. Called from within `work` it only asks for another run.
  template <class Work>
  void run(Work&& work) {
    // Exchanges throughout: whoever takes the wish away has then seen what everybody did who uttered it.
    wanted_.exchange(true, memory_order_seq_cst);
    while (wanted_.load(memory_order_seq_cst) && !held_.exchange(true, memory_order_seq_cst)) {
      wanted_.exchange(false, memory_order_seq_cst);
      work();
      held_.store(false, memory_order_seq_cst);
    }
  }

 private:
  Atomic<bool> wanted_{false};
  Atomic<bool> held_{false};
};

}  // namespace millrace::s3_source
