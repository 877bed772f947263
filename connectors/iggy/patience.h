// SPDX-License-Identifier: Apache-2.0
// What both threads that talk to a server bear before they do something else.
#pragma once

#include "millrace/base/time.h"

namespace millrace::iggy_source {

/// After something that may pass, before it is tried again. Connecting has a backoff of its own.
inline constexpr Duration kPause = std::chrono::milliseconds(500);
/// How long one turn begins tries to connect, so that a thread hears of other things.
inline constexpr Duration kConnectTurn = std::chrono::seconds(2);
/// Bytes that are not sound may have been damaged on the way; what stays so this often in a row is damaged where it is
/// stored.
inline constexpr int kMostDamaged = 3;

}  // namespace millrace::iggy_source
