// SPDX-License-Identifier: Apache-2.0
// PollReplyDecoder: the body of a poll's reply as messages. Takes foreign bytes: everything is bounded by what has
// arrived, offsets rise strictly, and checksums are looked at where that is asked for. One owner, one thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "connectors/iggy_client/layout.h"
#include "connectors/iggy_client/message_batch.h"
#include "millrace/base/result.h"
#include "millrace/iggy_client/messages.h"

namespace millrace::iggy {

class PollReplyDecoder {
 public:
  PollReplyDecoder(const Layout& layout, bool verify_checksums) : layout_(&layout), verify_(verify_checksums) {}

  /// Fills `out` with views of `body`. Fails (fatal): corrupt where a checksum does not fit, bad_response for all else
  /// that no server may say; the message names the offset.
  [[nodiscard]] Result<void> decode(std::string_view body, PolledMessages& out);

 private:
  [[nodiscard]] Result<void> single_messages(ByteReader& reader, std::uint32_t count, PolledMessages& out) const;
  [[nodiscard]] Result<void> batches(ByteReader& reader, std::uint32_t count, PolledMessages& out);
  [[nodiscard]] Result<void> one_batch(ByteReader& reader, PolledMessages& out);
  [[nodiscard]] Result<void> add(const Message& message, PolledMessages& out) const;

  const Layout* layout_;
  const bool verify_;
  BatchChecksum batch_checksum_;
};

}  // namespace millrace::iggy
