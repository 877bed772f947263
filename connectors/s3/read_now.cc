// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/read_now.h"

#include <optional>
#include <utility>

#include "millrace/base/sync.h"

namespace millrace {

ReadOutcome read_now(ObjectStore& store, ReadRequest request) {
  Mutex mutex;
  CondVar ended;
  std::optional<ReadOutcome> outcome;
  request.done = [&](ReadOutcome got) {
    const MutexLock lock(mutex);
    outcome = std::move(got);
    ended.notify_all();
  };
  const auto handle = store.start_read(std::move(request));
  const MutexLock lock(mutex);
  while (!outcome) ended.wait(mutex);
  return *std::move(outcome);
}

}  // namespace millrace
