// SPDX-License-Identifier: Apache-2.0
// Numbers of the protocol: commands, operations of the vsr framing, error codes.
#pragma once

#include <cstdint>

namespace millrace::iggy {

enum class Command : std::uint32_t {
  ping = 1,
  cluster = 12,
  login = 38,
  logout = 39,
  login_with_token = 44,
  poll = 100,
  send = 101,
  get_offset = 120,
  store_offset = 121,
  delete_offset = 122,
  get_stream = 200,
  create_stream = 202,
  delete_stream = 203,
  get_topic = 300,
  create_topic = 302,
  create_partitions = 402,
  get_group = 600,
  create_group = 602,
  join_group = 604,
  leave_group = 605,
  sync_group = 606,
};

/// How the vsr framing carries a command.
enum class Operation : std::uint8_t {
  log_in = 1,
  read = 2,  ///< with the command's own number beside it
  log_out = 3,
  create_stream = 128,
  delete_stream = 130,
  create_topic = 132,
  create_partitions = 136,
  create_group = 139,
  join_group = 148,
  leave_group = 149,
  send = 160,
  store_offset = 161,
  delete_offset = 162,
};

[[nodiscard]] constexpr Operation operation_of(Command command) noexcept {
  switch (command) {
    case Command::login:
    case Command::login_with_token:
      return Operation::log_in;
    case Command::logout:
      return Operation::log_out;
    case Command::send:
      return Operation::send;
    case Command::store_offset:
      return Operation::store_offset;
    case Command::delete_offset:
      return Operation::delete_offset;
    case Command::create_stream:
      return Operation::create_stream;
    case Command::delete_stream:
      return Operation::delete_stream;
    case Command::create_topic:
      return Operation::create_topic;
    case Command::create_partitions:
      return Operation::create_partitions;
    case Command::create_group:
      return Operation::create_group;
    case Command::join_group:
      return Operation::join_group;
    case Command::leave_group:
      return Operation::leave_group;
    default:
      return Operation::read;
  }
}
/// Changes what the cluster has agreed on: streams, topics, groups.
[[nodiscard]] constexpr bool is_metadata(Operation operation) noexcept {
  return static_cast<std::uint8_t>(operation) >= 128 && static_cast<std::uint8_t>(operation) < 160;
}

// Error codes that mean more than an error to somebody here; failure.cc has the others.
inline constexpr std::uint32_t kNotFound = 20;
inline constexpr std::uint32_t kUnavailable = 57;  ///< outcome unknown: the same request again
inline constexpr std::uint32_t kNotAccepted = 58;  ///< not applied: again, wherever the leader is
inline constexpr std::uint32_t kAlreadyApplied = 59;
inline constexpr std::uint32_t kStreamExists = 1012;
inline constexpr std::uint32_t kTopicExists = 2013;
inline constexpr std::uint32_t kNoStoredOffset = 3021;
inline constexpr std::uint32_t kConsumerNotResolved = 3022;
inline constexpr std::uint32_t kInvalidOffset = 4100;
inline constexpr std::uint32_t kNoGroupById = 5000;
inline constexpr std::uint32_t kNoGroupByName = 5003;
inline constexpr std::uint32_t kGroupExists = 5004;
inline constexpr std::uint32_t kNotAMember = 5006;
inline constexpr std::uint32_t kNotOwned = 5009;
inline constexpr std::uint32_t kIncompatible = 14003;

}  // namespace millrace::iggy
