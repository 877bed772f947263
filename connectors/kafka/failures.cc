// SPDX-License-Identifier: Apache-2.0
#include "connectors/kafka/failures.h"

#include <fmt/format.h>

#include <optional>
#include <string>

namespace millrace::kafka {
namespace {

struct Class {
  ErrorClass of;
  ErrorCode code;
  std::string_view way_out;
};

/// What means another thing to one who writes, or is met by nobody else.
std::optional<Class> class_in_writing(rd_kafka_resp_err_t code) noexcept {
  switch (code) {
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
      return Class{ErrorClass::fatal, ErrorCode::permission_denied,
                   "; allow this user to Write and Describe the topic"};
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
      return Class{ErrorClass::fatal, ErrorCode::permission_denied, "; allow this user IdempotentWrite on the cluster"};
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE:
      return Class{ErrorClass::record, ErrorCode::too_large,
                   "; raise max.message.bytes of the topic and `max_record_bytes`, or send smaller records"};
    case RD_KAFKA_RESP_ERR__MSG_TIMED_OUT:
      return Class{ErrorClass::retryable, ErrorCode::timeout,
                   ": not every replica in sync had it within `write_timeout`; see that the partition has a leader and "
                   "that min.insync.replicas of its replicas are there"};
    case RD_KAFKA_RESP_ERR__DESTROY:  // of a partition that went while its topic seemed to be gone
    // A producer that has lost its place among its messages does nothing more; another one begins anew.
    case RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER:
    case RD_KAFKA_RESP_ERR_UNKNOWN_PRODUCER_ID:
    case RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH:
    case RD_KAFKA_RESP_ERR_PRODUCER_FENCED:
    case RD_KAFKA_RESP_ERR__FENCED:
    case RD_KAFKA_RESP_ERR__INCONSISTENT:
    case RD_KAFKA_RESP_ERR__GAPLESS_GUARANTEE:
    case RD_KAFKA_RESP_ERR__PURGE_QUEUE:
    case RD_KAFKA_RESP_ERR__PURGE_INFLIGHT:
      return Class{ErrorClass::retryable, ErrorCode::unavailable, ""};
    case RD_KAFKA_RESP_ERR_INVALID_MSG:
    case RD_KAFKA_RESP_ERR_INVALID_RECORD:
    case RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP:
      return Class{ErrorClass::record, ErrorCode::invalid_request,
                   "; the topic's settings refuse such a record (a compacted topic one without a key)"};
    default:
      return std::nullopt;
  }
}

Class class_of(rd_kafka_resp_err_t code) noexcept {
  switch (code) {
    case RD_KAFKA_RESP_ERR__TIMED_OUT:
    case RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE:
    case RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT:
      return {ErrorClass::retryable, ErrorCode::timeout, ""};
    case RD_KAFKA_RESP_ERR__TRANSPORT:
    case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
    case RD_KAFKA_RESP_ERR__RESOLVE:
    case RD_KAFKA_RESP_ERR_NETWORK_EXCEPTION:
      return {ErrorClass::retryable, ErrorCode::unreachable, ""};
    case RD_KAFKA_RESP_ERR__WAIT_COORD:
    case RD_KAFKA_RESP_ERR__RETRY:
    case RD_KAFKA_RESP_ERR__IN_PROGRESS:
    case RD_KAFKA_RESP_ERR__STATE:
    case RD_KAFKA_RESP_ERR__MAX_POLL_EXCEEDED:
    case RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS:
    case RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_NOT_COORDINATOR:
    case RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION:
    case RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_REPLICA_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_OFFSET_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_FENCED_LEADER_EPOCH:
    case RD_KAFKA_RESP_ERR_UNKNOWN_LEADER_EPOCH:
    case RD_KAFKA_RESP_ERR_UNSTABLE_OFFSET_COMMIT:
    case RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS:
    case RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND:
    case RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR:
    case RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS:
    case RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION:
    case RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID:
      return {ErrorClass::retryable, ErrorCode::unavailable, ""};
    case RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE:
      return {ErrorClass::fatal, ErrorCode::config, "; the brokers are too old for it: 0.11 is the oldest"};
    case RD_KAFKA_RESP_ERR_THROTTLING_QUOTA_EXCEEDED:
      return {ErrorClass::retryable, ErrorCode::throttled, ""};
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
      return {ErrorClass::retryable, ErrorCode::not_found, ""};
    case RD_KAFKA_RESP_ERR__AUTHENTICATION:
    case RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED:
    case RD_KAFKA_RESP_ERR_UNSUPPORTED_SASL_MECHANISM:
    case RD_KAFKA_RESP_ERR_ILLEGAL_SASL_STATE:
      return {ErrorClass::fatal, ErrorCode::credentials,
              "; set security.protocol, sasl.mechanisms, sasl.username and sasl.password in `properties` as the "
              "brokers ask for"};
    case RD_KAFKA_RESP_ERR__SSL:
      return {ErrorClass::fatal, ErrorCode::credentials,
              "; set security.protocol and the ssl.* of `properties` as the brokers ask for"};
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
      return {ErrorClass::fatal, ErrorCode::permission_denied, "; allow this user to Read and Describe the topic"};
    case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
      return {ErrorClass::fatal, ErrorCode::permission_denied, "; allow this user to Read the group"};
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
      return {ErrorClass::fatal, ErrorCode::permission_denied, "; allow this user to Describe the cluster"};
    case RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID:
      return {ErrorClass::fatal, ErrorCode::fenced,
              "; another process has the same group.instance.id: give each one its own"};
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
      return {ErrorClass::fatal, ErrorCode::too_large, "; raise receive.message.max.bytes in `properties`"};
    case RD_KAFKA_RESP_ERR_INCONSISTENT_GROUP_PROTOCOL:
      return {ErrorClass::fatal, ErrorCode::config,
              "; the other members of the group divide partitions in another way: set `assignment` to theirs"};
    default:
      return {ErrorClass::fatal, ErrorCode::bad_response, ""};
  }
}

}  // namespace

Error error_of(rd_kafka_resp_err_t code, std::string_view doing, std::string_view detail, Role role) {
  const auto in_writing = role == Role::sink ? class_in_writing(code) : std::nullopt;
  const Class known = in_writing.value_or(class_of(code));
  const std::string_view text = detail.empty() ? std::string_view(rd_kafka_err2str(code)) : detail;
  return Error(known.of, known.code, fmt::format("kafka: {}: {}{}", doing, text, known.way_out))
      .with("kafka_code", rd_kafka_err2name(code));
}

Error fatal_error_of(rd_kafka_t* handle, std::string_view doing) {
  char text[512] = "";
  const rd_kafka_resp_err_t code = rd_kafka_fatal_error(handle, text, sizeof text);
  const Role role = rd_kafka_type(handle) == RD_KAFKA_PRODUCER ? Role::sink : Role::source;
  return error_of(code, doing, text, role).as(ErrorClass::fatal);
}

Error stopped_unanswered() {
  return Error::fatal(ErrorCode::cancelled, "kafka: stopped before the brokers had answered");
}

bool says_not_ours(rd_kafka_resp_err_t code) noexcept {
  return code == RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION || code == RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID;
}

bool says_of_one_partition(rd_kafka_resp_err_t code) noexcept {
  switch (code) {
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_OFFSET_METADATA_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_INVALID_COMMIT_OFFSET_SIZE:
      return true;
    default:
      return false;
  }
}

}  // namespace millrace::kafka
