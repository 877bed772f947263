// SPDX-License-Identifier: Apache-2.0
// The vsr framing: requests, replies and evictions behind 256 bytes. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "connectors/iggy_client/codes.h"
#include "connectors/iggy_client/reply_head.h"
#include "millrace/base/result.h"
#include "millrace/iggy_client/protocol.h"

namespace millrace::iggy {

inline constexpr std::size_t kVsrHeader = 256;

/// Whose request it is, and which.
struct RequestIds {
  ClientId client{};
  std::uint64_t session = 0;
  std::uint64_t request = 0;
};

/// Writes the header of a request with this body to the 256 bytes at `to`.
void write_vsr_header(Command command, const RequestIds& ids, std::string_view body, char* to) noexcept;
/// `header`: 256 bytes. Fails (retryable): too_large for a reply beyond `max_bytes`, bad_response for what is none.
[[nodiscard]] Result<ReplyHead> read_vsr_header(std::string_view header, std::size_t max_bytes);

/// What a reply carries behind the results of an operation that has some.
struct VsrPayload {
  std::uint32_t status = 0;
  std::string_view bytes;
};
[[nodiscard]] Result<VsrPayload> read_vsr_results(Operation operation, std::string_view body);

}  // namespace millrace::iggy
