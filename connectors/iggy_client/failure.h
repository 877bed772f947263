// SPDX-License-Identifier: Apache-2.0
// Where an error code of a server becomes an Error: its class is decided here and nowhere else. Pure functions.
#pragma once

#include <cstdint>
#include <string_view>

#include "millrace/base/error.h"
#include "millrace/iggy_client/protocol.h"

namespace millrace::iggy {

/// The session that was refused with this code is of no use any more.
[[nodiscard]] bool ends_session(std::uint32_t code) noexcept;
/// `doing`: what was asked of whom, with names: "polling 's/t' partition 3 at offset 42 from 127.0.0.1:8090".
[[nodiscard]] Error refused(std::uint32_t code, std::string_view doing);
/// An error of the login itself, where codes may mean something else.
[[nodiscard]] Error login_refused(std::uint32_t code, std::string_view doing);

/// A server that let go of the session: reason of an eviction frame, and which versions it takes (reason 14).
struct Eviction {
  std::uint8_t reason = 0;
  ProtocolVersion oldest;
  ProtocolVersion newest;
};
/// The error code that an eviction stands for.
[[nodiscard]] std::uint32_t code_of(const Eviction& eviction) noexcept;
[[nodiscard]] Error evicted(const Eviction& eviction, ProtocolVersion announced, std::string_view doing);

}  // namespace millrace::iggy
