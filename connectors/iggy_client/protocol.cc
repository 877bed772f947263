// SPDX-License-Identifier: Apache-2.0
#include "millrace/iggy_client/protocol.h"

#include <fmt/format.h>

#include <charconv>

#include "millrace/base/printable.h"
#include "millrace/iggy_client/messages.h"

namespace millrace::iggy {

std::string_view to_string(Framing framing) noexcept { return framing == Framing::classic ? "classic" : "vsr"; }

std::string to_string(ProtocolVersion version) {
  return fmt::format("{}.{}.{}", version.major, version.minor, version.patch);
}

Result<ProtocolVersion> parse_protocol_version(std::string_view text) {
  std::uint32_t parts[3] = {};
  const char* at = text.data();
  const char* const end = at + text.size();
  bool good = true;
  for (int i = 0; good && i < 3; ++i) {
    const auto [behind, error] = std::from_chars(at, end, parts[i]);
    good = error == std::errc() && parts[i] < 1024 && (i == 2 ? behind == end : behind != end && *behind == '.');
    at = behind + 1;
  }
  if (!good) {
    return fail(
        Error::config(fmt::format("'{}' is no protocol version; write three numbers below 1024 with dots "
                                  "between them, such as 0.11.0",
                                  printable(text))));
  }
  return ProtocolVersion{parts[0], parts[1], parts[2]};
}

std::string to_string(const Identifier& id) {
  return id.as_number() ? std::to_string(*id.as_number()) : printable(id.as_name());
}

std::string to_string(MessageId id) { return fmt::format("{:016x}{:016x}", id.high, id.low); }

}  // namespace millrace::iggy
