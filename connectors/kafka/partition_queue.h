// SPDX-License-Identifier: Apache-2.0
// PartitionQueue: the library's queue of one partition, and who is woken when something comes into it. One for the
// whole run, however often the partition comes and goes: shared by the source and by the lanes that read it one after
// the other, of which one that was left behind may end when its successor reads. Any thread.
#pragma once

#include <memory>

#include "connectors/kafka/client.h"
#include "connectors/kafka/handles.h"
#include "connectors/kafka/partitions.h"
#include "millrace/base/sync.h"

namespace millrace::kafka {

class PartitionQueue {
 public:
  PartitionQueue(std::shared_ptr<Client> client, const Partition& partition);
  ~PartitionQueue();
  PartitionQueue(const PartitionQueue&) = delete;
  PartitionQueue& operator=(const PartitionQueue&) = delete;

  /// Cuts it off from the queue of all partitions. At each assignment, before anything comes into it.
  void cut_off() { rd_kafka_queue_forward(queue_.get(), nullptr); }
  [[nodiscard]] rd_kafka_queue_t* get() const noexcept { return queue_.get(); }
  /// Wakes `waker` from now on, and nobody else, whenever something comes into the empty queue. `reader` is its name.
  void read_by(const void* reader, Waker waker);
  /// Wakes `reader` no more; another goes on.
  void left_by(const void* reader);

 private:
  static void on_event(rd_kafka_t* handle, void* self);

  const std::shared_ptr<Client> client_;
  Mutex mutex_;
  const void* reader_ MILLRACE_GUARDED_BY(mutex_) = nullptr;
  Waker waker_ MILLRACE_GUARDED_BY(mutex_);
  const QueueHandle queue_;  // before the client goes
};

}  // namespace millrace::kafka
