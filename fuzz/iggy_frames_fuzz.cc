// SPDX-License-Identifier: Apache-2.0
// Any bytes as what a server sends, in either framing, in pieces: the first byte says which framing, the second how
// large the pieces are. Read whole and in pieces they are the same replies.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "connectors/iggy_client/reply_reader.h"
#include "millrace/base/check.h"

namespace {

using namespace millrace::iggy;

std::vector<std::string> replies(Framing framing, std::string_view bytes, std::size_t piece) {
  std::vector<std::string> all;
  ReplyReader reader(framing, std::size_t{1} << 20U);
  while (!bytes.empty()) {
    reader.begin();
    for (bool whole = false; !whole;) {
      const auto room = reader.room();
      MILLRACE_CHECK(!room.empty(), "a reply that is not whole takes more");
      const std::size_t count = std::min({room.size(), piece, bytes.size()});
      if (count == 0) return all;
      bytes.copy(room.data(), count);
      bytes.remove_prefix(count);
      const auto done = reader.filled(count);
      if (!done) return all;
      whole = *done;
    }
    all.emplace_back(reader.body());
    static_cast<void>(read_vsr_results(Operation::join_group, reader.body()));
    static_cast<void>(read_vsr_results(Operation::log_in, reader.body()));
  }
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const Framing framing = (data[0] & 1U) == 0 ? Framing::classic : Framing::vsr;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  MILLRACE_CHECK(replies(framing, bytes, SIZE_MAX) == replies(framing, bytes, data[1] + std::size_t{1}),
                 "replies are the same however they are cut");
  return 0;
}
