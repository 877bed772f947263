// SPDX-License-Identifier: Apache-2.0
#include "codec/gzip_header.h"

#include <fmt/format.h>
#include <isa-l.h>

#include <algorithm>

namespace millrace::codec {
namespace {

constexpr std::uint8_t kHeaderCrc = 2, kExtra = 4, kName = 8, kComment = 16, kReserved = 0xE0;
constexpr std::uint32_t kFixedBytes = 10;

auto corrupt(std::string message) { return fail(Error::fatal(ErrorCode::corrupt, std::move(message))); }

}  // namespace

Result<std::size_t> GzipHeader::take(std::string_view input) {
  std::size_t taken = 0;
  while (!done() && taken < input.size()) {
    const bool summed = step_ != Step::checksum;
    MILLRACE_ASSIGN(const std::size_t some, take_some(input.substr(taken)));
    if (summed) {
      crc_ = crc32_gzip_refl(crc_, reinterpret_cast<const unsigned char*>(input.data() + taken), some);
    }
    taken += some;
  }
  return taken;
}

// Takes at least one byte, all of one step.
Result<std::size_t> GzipHeader::take_some(std::string_view input) {
  const auto byte = static_cast<std::uint8_t>(input.front());
  switch (step_) {
    case Step::fixed:
      MILLRACE_TRY(take_fixed(byte));
      return 1;
    case Step::extra_size:
      number_ |= static_cast<std::uint32_t>(byte) << (8 * count_);
      if (++count_ == 2) {
        step_ = Step::extra;
        count_ = number_;
        if (count_ == 0) advance(Step::extra);
      }
      return 1;
    case Step::extra: {
      const std::size_t some = std::min<std::size_t>(input.size(), count_);
      count_ -= static_cast<std::uint32_t>(some);
      if (count_ == 0) advance(Step::extra);
      return some;
    }
    case Step::name:
    case Step::comment: {
      const std::size_t end = input.find('\0');
      if (end == std::string_view::npos) return input.size();
      advance(step_);
      return end + 1;
    }
    case Step::checksum:
      number_ |= static_cast<std::uint32_t>(byte) << (8 * count_);
      if (++count_ == 2) {
        if (number_ != (crc_ & 0xFFFFU)) return corrupt("the checksum of a gzip header does not match the header");
        step_ = Step::done;
      }
      return 1;
    case Step::done:
      break;
  }
  return 0;
}

Result<void> GzipHeader::take_fixed(std::uint8_t byte) {
  switch (count_++) {
    case 0:
      if (byte != 0x1F) return corrupt(fmt::format("not gzip data: the first byte is {:02x}, not 1f", byte));
      break;
    case 1:
      if (byte != 0x8B) return corrupt(fmt::format("not gzip data: it begins with 1f {:02x}, not 1f 8b", byte));
      break;
    case 2:
      if (byte != 8) return corrupt(fmt::format("gzip compression method {} is unknown; only deflate (8) is", byte));
      break;
    case 3:
      if ((byte & kReserved) != 0) return corrupt(fmt::format("gzip header flags {:02x} have reserved bits set", byte));
      flags_ = byte;
      break;
    default:  // time, extra flags, system: of no use here
      break;
  }
  if (count_ == kFixedBytes) advance(Step::fixed);
  return {};
}

// To the next step that the flags ask for.
void GzipHeader::advance(Step from) {
  count_ = 0;
  number_ = 0;
  if (from < Step::extra_size && (flags_ & kExtra) != 0) {
    step_ = Step::extra_size;
  } else if (from < Step::name && (flags_ & kName) != 0) {
    step_ = Step::name;
  } else if (from < Step::comment && (flags_ & kComment) != 0) {
    step_ = Step::comment;
  } else if ((flags_ & kHeaderCrc) != 0) {
    step_ = Step::checksum;
  } else {
    step_ = Step::done;
  }
}

}  // namespace millrace::codec
