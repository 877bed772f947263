// SPDX-License-Identifier: Apache-2.0
// Layout: everything in which the payloads of two protocol versions differ, as one row of a table. Frames are another
// matter (classic_frame.h, vsr_frame.h). Immutable; any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "millrace/base/result.h"
#include "millrace/iggy_client/protocol.h"

namespace millrace::iggy {

struct Layout {
  Framing framing = Framing::classic;
  /// Messages stand alone behind headers of 64 bytes; else they stand in batches, behind frames of 48 bytes.
  bool single_messages = true;
  std::size_t poll_context = 0;       ///< bytes between the prefix of a poll's reply and its messages
  bool topic_settings = true;         ///< a topic's header holds expiry, compression and size limit
  bool topic_replication = true;      ///< and a byte for replication
  std::size_t stream_options = 0;     ///< blocks of options behind a stream's header
  std::size_t topic_options = 0;      ///< and behind a topic's
  bool creates_with_settings = true;  ///< a topic is made with settings of fixed places, else with options
  bool acknowledges_offsets = false;  ///< a store says how durable it must be
  bool syncs_groups = false;          ///< a member can ask which partitions it has
  bool finds_leader = false;          ///< a cluster says who leads
};

[[nodiscard]] const Layout& classic_layout() noexcept;
/// Fails (fatal, not_supported) for a version that is not in the table.
[[nodiscard]] Result<const Layout*> vsr_layout(ProtocolVersion version);

}  // namespace millrace::iggy
