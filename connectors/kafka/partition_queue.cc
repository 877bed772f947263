// SPDX-License-Identifier: Apache-2.0
#include "connectors/kafka/partition_queue.h"

#include <utility>

namespace millrace::kafka {

PartitionQueue::PartitionQueue(std::shared_ptr<Client> client, const Partition& partition)
    : client_(std::move(client)),
      queue_(rd_kafka_queue_get_partition(client_->get(), partition.topic.c_str(), partition.number)) {
  cut_off();
  rd_kafka_queue_cb_event_enable(queue_.get(), &on_event, this);
}

// The library calls back under the queue's lock: once this has returned, nobody is called.
PartitionQueue::~PartitionQueue() { rd_kafka_queue_cb_event_enable(queue_.get(), nullptr, nullptr); }

void PartitionQueue::read_by(const void* reader, Waker waker) {
  const MutexLock lock(mutex_);
  reader_ = reader;
  waker_ = std::move(waker);
}

void PartitionQueue::left_by(const void* reader) {
  const MutexLock lock(mutex_);
  if (reader_ == reader) waker_ = Waker();
}

void PartitionQueue::on_event(rd_kafka_t* /*handle*/, void* self) {
  auto& queue = *static_cast<PartitionQueue*>(self);
  const MutexLock lock(queue.mutex_);
  queue.waker_.wake();
}

}  // namespace millrace::kafka
