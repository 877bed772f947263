// SPDX-License-Identifier: Apache-2.0
#include "connectors/iggy_client/reply_reader.h"

#include <algorithm>
#include <cstring>

#include "connectors/iggy_client/classic_frame.h"

namespace millrace::iggy {
namespace {

// The largest step in which memory runs ahead of what has arrived.
constexpr std::size_t kStep = std::size_t{1} << 20U;

}  // namespace

ReplyReader::ReplyReader(Framing framing, std::size_t max_bytes)
    : framing_(framing), max_bytes_(std::max(max_bytes, kSmallestLimit)) {}

std::size_t ReplyReader::header_size() const noexcept {
  return framing_ == Framing::classic ? kClassicHeader : kVsrHeader;
}

void ReplyReader::begin() noexcept {
  header_filled_ = 0;
  body_filled_ = 0;
  head_ = {};
  body_.clear();
}

std::span<char> ReplyReader::room() {
  if (header_filled_ < header_size()) {
    return std::span(header_).subspan(header_filled_, header_size() - header_filled_);
  }
  const std::size_t count = std::min(head_.body - body_filled_, kStep);
  if (body_.size() < body_filled_ + count) static_cast<void>(body_.grow(body_filled_ + count - body_.size()));
  return {body_.data() + body_filled_, count};
}

Result<bool> ReplyReader::filled(std::size_t count) {
  if (header_filled_ < header_size()) {
    header_filled_ += count;
    if (header_filled_ < header_size()) return false;
    const std::string_view header(header_.data(), header_size());
    MILLRACE_ASSIGN(head_, framing_ == Framing::classic ? read_classic_header(header, max_bytes_)
                                                        : read_vsr_header(header, max_bytes_));
  } else {
    body_filled_ += count;
  }
  if (body_filled_ < head_.body) return false;
  body_.truncate(head_.body);
  std::memset(body_.grow(kBytePadding), 0, kBytePadding);
  return true;
}

}  // namespace millrace::iggy
