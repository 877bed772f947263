// SPDX-License-Identifier: Apache-2.0
#include "connectors/iggy/known_message.h"

#include <algorithm>

namespace millrace::iggy_source {

void KnownMessages::add(KnownMessage message) {
  if (pending_.size() == kMost) {
    std::size_t kept = 0;
    for (std::size_t i = 1; i < pending_.size(); i += 2) pending_[kept++] = pending_[i];
    pending_.resize(kept);
  }
  pending_.push_back(message);
}

std::optional<KnownMessage> KnownMessages::settle(Watermark watermark) {
  const auto at = std::ranges::lower_bound(pending_, watermark.value() - 1, {}, [](const KnownMessage& one) {
    return static_cast<std::int64_t>(one.offset);
  });
  if (at != pending_.begin()) settled_ = *std::prev(at);
  pending_.erase(pending_.begin(), at);
  // A watermark may rest within a batch. Its last message stays: it is the one for the next watermark too, perhaps.
  if (!pending_.empty()) settled_ = pending_.front();
  return settled_;
}

}  // namespace millrace::iggy_source
