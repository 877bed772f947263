// SPDX-License-Identifier: Apache-2.0
// GroupTraffic: whether this member waits for the group right now, as told by the requests that go to the brokers.
//
// A broker answers the requests of a connection one after the other, and a member that joins again waits for all others
// first. A position that is stored meanwhile waits behind it, and arrives under a generation that has passed; which
// librdkafka before 2.10 takes for a sign that its partitions are lost (its issue 4059). So nothing is stored then.
// Told by the library's threads; asked by the control thread.
#pragma once

#include <librdkafka/rdkafka.h>

#include <cstdint>
#include <string>

#include "millrace/base/result.h"
#include "millrace/base/sync.h"

namespace millrace::kafka {

class GroupTraffic {
 public:
  /// Has the client that is made of `conf` tell this, which outlives it.
  [[nodiscard]] Result<void> watch(rd_kafka_conf_t& conf);
  /// A request to join, or to be told one's partitions, is under way.
  [[nodiscard]] bool joining() const noexcept { return joining_.load(memory_order_relaxed); }

 private:
  static rd_kafka_resp_err_t on_new(rd_kafka_t* handle, const rd_kafka_conf_t* conf, void* self, char* text,
                                    std::size_t size);
  static rd_kafka_resp_err_t on_sent(rd_kafka_t* handle, int socket, const char* broker, std::int32_t id,
                                     std::int16_t request, std::int16_t version, std::int32_t correlation,
                                     std::size_t size, void* self);
  static rd_kafka_resp_err_t on_answered(rd_kafka_t* handle, int socket, const char* broker, std::int32_t id,
                                         std::int16_t request, std::int16_t version, std::int32_t correlation,
                                         std::size_t size, std::int64_t took, rd_kafka_resp_err_t code, void* self);

  Atomic<bool> joining_{false};
};

}  // namespace millrace::kafka
