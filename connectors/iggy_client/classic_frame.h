// SPDX-License-Identifier: Apache-2.0
// The classic framing: requests and replies behind 8 bytes. One request in flight; answers come in order. Pure.
#pragma once

#include <cstddef>
#include <string_view>

#include "connectors/iggy_client/codes.h"
#include "connectors/iggy_client/reply_head.h"
#include "millrace/base/bytes.h"
#include "millrace/base/result.h"

namespace millrace::iggy {

inline constexpr std::size_t kClassicHeader = 8;

/// Writes the header of a request with a body of `body` bytes to the 8 bytes at `to`.
void write_classic_header(Command command, std::size_t body, char* to) noexcept;
/// `header`: 8 bytes. Fails (retryable, too_large) for a reply beyond `max_bytes`.
[[nodiscard]] Result<ReplyHead> read_classic_header(std::string_view header, std::size_t max_bytes);

}  // namespace millrace::iggy
