// SPDX-License-Identifier: Apache-2.0
#include "connectors/iggy_client/classic_frame.h"

#include <fmt/format.h>

#include <cstring>

#include "connectors/iggy_client/byte_reader.h"

namespace millrace::iggy {

void write_classic_header(Command command, std::size_t body, char* to) noexcept {
  const auto length = static_cast<std::uint32_t>(body + sizeof(std::uint32_t));
  const auto code = static_cast<std::uint32_t>(command);
  std::memcpy(to, &length, sizeof length);
  std::memcpy(to + sizeof length, &code, sizeof code);
}

Result<ReplyHead> read_classic_header(std::string_view header, std::size_t max_bytes) {
  ByteReader reader(header);
  ReplyHead head;
  head.status = reader.u32();
  head.body = reader.u32();
  if (head.body > max_bytes - kClassicHeader) {
    return fail(Error::retryable(ErrorCode::too_large,
                                 fmt::format("the server's reply has {} bytes, more than the {} that are allowed",
                                             head.body + kClassicHeader, max_bytes)));
  }
  return head;
}

}  // namespace millrace::iggy
