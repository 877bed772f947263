// SPDX-License-Identifier: Apache-2.0
// Encoders of requests, as a layout wants them. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "connectors/iggy_client/layout.h"
#include "connectors/iggy_client/request.h"
#include "millrace/base/time.h"
#include "millrace/iggy_client/messages.h"
#include "millrace/iggy_client/protocol.h"

namespace millrace::iggy {

/// Who logs in, with what has been read from a token file. Without a token: by name and password.
struct Login {
  std::string_view username;
  std::string_view password;
  std::string_view token;
  std::string_view sdk_name;
  std::string_view sdk_version;
  std::string_view context;
};

[[nodiscard]] Request login_request(const Layout& layout, ProtocolVersion version, const Login& login);
/// Of commands without a payload: ping, cluster, logout.
[[nodiscard]] Request bare_request(Command command);
[[nodiscard]] Request stream_request(Command command, const Identifier& stream);
[[nodiscard]] Request topic_request(Command command, const TopicName& topic);
/// Get, join, leave, sync.
[[nodiscard]] Request group_request(Command command, const TopicName& topic, const Identifier& group);
[[nodiscard]] Request create_stream_request(std::string_view name);
[[nodiscard]] Request create_topic_request(const Layout& layout, const Identifier& stream, std::string_view name,
                                           std::uint32_t partitions);
[[nodiscard]] Request create_partitions_request(const TopicName& topic, std::uint32_t more);
[[nodiscard]] Request create_group_request(const TopicName& topic, std::string_view name);
[[nodiscard]] Request poll_request(const Consumer& consumer, const TopicName& topic, std::uint32_t partition,
                                   PollFrom from, std::uint32_t count);
[[nodiscard]] Request get_offset_request(const Consumer& consumer, const TopicName& topic, std::uint32_t partition);
[[nodiscard]] Request store_offset_request(const Layout& layout, const Consumer& consumer, const TopicName& topic,
                                           std::uint32_t partition, std::uint64_t offset);
[[nodiscard]] Request delete_offset_request(const Layout& layout, const Consumer& consumer, const TopicName& topic,
                                            std::uint32_t partition);
/// Ids are made up by `random` where a message has none and the layout wants one. Invalid where the messages' own
/// times are more than 71 minutes apart and the layout cannot say so.
[[nodiscard]] Request send_request(const Layout& layout, const TopicName& topic, const Partitioning& partitioning,
                                   std::span<const OutgoingMessage> messages, Random& random);

}  // namespace millrace::iggy
