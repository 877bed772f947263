// SPDX-License-Identifier: Apache-2.0
// What librdkafka hands out, each freed by its owner's end. A client outlives all that was got from it: who keeps a
// queue or a message keeps the client too.
#pragma once

#include <librdkafka/rdkafka.h>

#include <memory>

namespace millrace::kafka {

struct Free {
  void operator()(rd_kafka_conf_t* conf) const { rd_kafka_conf_destroy(conf); }
  void operator()(rd_kafka_topic_partition_list_t* list) const { rd_kafka_topic_partition_list_destroy(list); }
  void operator()(rd_kafka_queue_t* queue) const { rd_kafka_queue_destroy(queue); }
  void operator()(rd_kafka_error_t* error) const { rd_kafka_error_destroy(error); }
  void operator()(rd_kafka_topic_t* topic) const { rd_kafka_topic_destroy(topic); }
  void operator()(const rd_kafka_metadata_t* metadata) const { rd_kafka_metadata_destroy(metadata); }
};
using ConfHandle = std::unique_ptr<rd_kafka_conf_t, Free>;
using ListHandle = std::unique_ptr<rd_kafka_topic_partition_list_t, Free>;
using QueueHandle = std::unique_ptr<rd_kafka_queue_t, Free>;
using ErrorHandle = std::unique_ptr<rd_kafka_error_t, Free>;
using TopicHandle = std::unique_ptr<rd_kafka_topic_t, Free>;
using MetadataHandle = std::unique_ptr<const rd_kafka_metadata_t, Free>;

[[nodiscard]] inline ListHandle new_list(std::size_t size) {
  return ListHandle(rd_kafka_topic_partition_list_new(static_cast<int>(size)));
}

}  // namespace millrace::kafka
