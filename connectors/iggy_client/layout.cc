// SPDX-License-Identifier: Apache-2.0
#include "connectors/iggy_client/layout.h"

#include <fmt/format.h>

namespace millrace::iggy {
namespace {

constexpr Layout kClassic{};

// Protocol 0.11, which servers of 0.9 speak.
constexpr Layout kVsr11{.framing = Framing::vsr,
                        .single_messages = false,
                        .poll_context = 0,
                        .topic_settings = true,
                        .topic_replication = false,
                        .stream_options = 1,
                        .topic_options = 2,
                        .creates_with_settings = false,
                        .acknowledges_offsets = true,
                        .syncs_groups = true,
                        .finds_leader = true};

}  // namespace

const Layout& classic_layout() noexcept { return kClassic; }

Result<const Layout*> vsr_layout(ProtocolVersion version) {
  if (version.major == 0 && version.minor == 11) return &kVsr11;
  return fail(
      Error::fatal(ErrorCode::not_supported,
                   fmt::format("Iggy protocol version {} is not known here; 0.11.x is (servers of 0.9), and the "
                               "classic protocol (servers up to 0.8)",
                               to_string(version))));
}

}  // namespace millrace::iggy
