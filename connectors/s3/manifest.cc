// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "millrace/base/printable.h"
#include "millrace/config/values.h"

namespace millrace::s3_source {

std::string Owner::describe() const {
  return fmt::format("host {}, pid {}, started {}, last heard of {}", printable(host, 200), pid, to_rfc3339(started),
                     to_rfc3339(heartbeat));
}

const LanePosition* Manifest::position(std::uint64_t lane) const {
  const auto found = std::ranges::lower_bound(positions, lane, {}, &LanePosition::lane);
  return found != positions.end() && found->lane == lane ? &*found : nullptr;
}

std::optional<UnixMicros> parse_time(std::string_view text) {
  const auto time = parse_rfc3339(text);
  if (!time || to_rfc3339(*time, 6) != text) return std::nullopt;
  return *time;
}

void Manifest::Skipped::add(std::string key) {
  ++count;
  if (keys.size() < kSkippedNamed) keys.push_back(std::move(key));
}

}  // namespace millrace::s3_source
