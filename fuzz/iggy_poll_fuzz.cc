// SPDX-License-Identifier: Apache-2.0
// Any bytes as the body of a poll's reply, in either layout. The first byte says which, and whether checksums are
// looked at. Whatever is accepted lies within the bytes, and its offsets rise.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "connectors/iggy_client/poll_reply.h"
#include "millrace/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace millrace::iggy;
  if (size == 0) return 0;
  const std::string_view body(reinterpret_cast<const char*>(data) + 1, size - 1);
  PollReplyDecoder decoder((data[0] & 1U) == 0 ? classic_layout() : **vsr_layout({}), (data[0] & 2U) == 0);
  PolledMessages out;
  if (!decoder.decode(body, out)) return 0;
  const Message* before = nullptr;
  for (const Message& message : out.messages()) {
    for (const std::string_view part : {message.payload, message.user_headers}) {
      MILLRACE_CHECK(part.data() >= body.data() && part.data() + part.size() <= body.data() + body.size(),
                     "a message lies within its reply");
    }
    MILLRACE_CHECK(before == nullptr || before->offset < message.offset, "offsets rise");
    before = &message;
  }
  return 0;
}
