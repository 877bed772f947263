// SPDX-License-Identifier: Apache-2.0
// Decoders of replies but those of polls. They take foreign bytes: nothing is allocated by a count that the bytes do
// not bear out. Each fails (fatal, bad_response) for what no server may say. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "connectors/iggy_client/layout.h"
#include "millrace/base/result.h"
#include "millrace/iggy_client/messages.h"

namespace millrace::iggy {

/// What a login yields; the classic framing knows the user's number only.
struct LoggedIn {
  std::uint32_t user = 0;
  std::uint64_t session = 0;
  ProtocolVersion protocol;
  std::string server_version;
};
[[nodiscard]] Result<LoggedIn> read_login(const Layout& layout, std::string_view body);
/// Nothing for an empty body, in each of these: there is none.
[[nodiscard]] Result<std::optional<StreamInfo>> read_stream(const Layout& layout, std::string_view body);
[[nodiscard]] Result<std::optional<TopicInfo>> read_topic(const Layout& layout, std::string_view body);
[[nodiscard]] Result<std::optional<GroupInfo>> read_group(std::string_view body);
[[nodiscard]] Result<std::optional<StoredOffset>> read_offset(std::string_view body);
[[nodiscard]] Result<std::optional<GroupAssignment>> read_assignment(std::string_view body);
[[nodiscard]] Result<std::vector<ClusterNode>> read_cluster(std::string_view body);
[[nodiscard]] Result<std::vector<SendConfirmation>> read_confirmations(std::string_view body);

}  // namespace millrace::iggy
