// SPDX-License-Identifier: Apache-2.0
#include "connectors/kafka/group_traffic.h"

#include "connectors/kafka/failures.h"

namespace millrace::kafka {
namespace {

constexpr const char* kName = "millrace";
// Of Kafka's protocol: the keys of the requests by which a member joins, learns its partitions, and shows it is alive.
constexpr std::int16_t kJoinGroup = 11;
constexpr std::int16_t kHeartbeat = 12;
constexpr std::int16_t kSyncGroup = 14;

}  // namespace

Result<void> GroupTraffic::watch(rd_kafka_conf_t& conf) {
  const auto code = rd_kafka_conf_interceptor_add_on_new(&conf, kName, &on_new, this);
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return fail(error_of(code, "watching the group").as(ErrorClass::fatal));
  return {};
}

rd_kafka_resp_err_t GroupTraffic::on_new(rd_kafka_t* handle, const rd_kafka_conf_t* /*conf*/, void* self,
                                         char* /*text*/, std::size_t /*size*/) {
  const auto code = rd_kafka_interceptor_add_on_request_sent(handle, kName, &on_sent, self);
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return code;
  return rd_kafka_interceptor_add_on_response_received(handle, kName, &on_answered, self);
}

// A heartbeat is only sent by a member that waits for nothing: it makes up for an answer that never came.
rd_kafka_resp_err_t GroupTraffic::on_sent(rd_kafka_t* /*handle*/, int /*socket*/, const char* /*broker*/,
                                          std::int32_t /*id*/, std::int16_t request, std::int16_t /*version*/,
                                          std::int32_t /*correlation*/, std::size_t /*size*/, void* self) {
  auto& joining = static_cast<GroupTraffic*>(self)->joining_;
  if (request == kJoinGroup || request == kSyncGroup) joining.store(true, memory_order_relaxed);
  if (request == kHeartbeat) joining.store(false, memory_order_relaxed);
  return RD_KAFKA_RESP_ERR_NO_ERROR;
}

rd_kafka_resp_err_t GroupTraffic::on_answered(rd_kafka_t* /*handle*/, int /*socket*/, const char* /*broker*/,
                                              std::int32_t /*id*/, std::int16_t request, std::int16_t /*version*/,
                                              std::int32_t /*correlation*/, std::size_t /*size*/, std::int64_t /*took*/,
                                              rd_kafka_resp_err_t /*code*/, void* self) {
  if (request == kJoinGroup || request == kSyncGroup)
    static_cast<GroupTraffic*>(self)->joining_.store(false, memory_order_relaxed);
  return RD_KAFKA_RESP_ERR_NO_ERROR;
}

}  // namespace millrace::kafka
