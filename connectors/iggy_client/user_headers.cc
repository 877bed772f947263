// SPDX-License-Identifier: Apache-2.0
#include "millrace/iggy_client/user_headers.h"

#include <fmt/format.h>

#include <array>
#include <iterator>

#include "connectors/iggy_client/byte_reader.h"

namespace millrace::iggy {
namespace {

// A kind, a length, and what it counts: twice.
bool read_part(ByteReader& reader, HeaderKind& kind, std::string_view& bytes) {
  kind = static_cast<HeaderKind>(reader.u8());
  const std::uint32_t length = reader.u32();
  bytes = reader.take(length);
  return !reader.failed() && length >= 1 && length <= kMaxHeaderPart;
}

template <class T>
void append_number(std::string_view bytes, std::string& out) {
  if (bytes.size() != sizeof(T)) {
    out.append(bytes);
  } else {
    fmt::format_to(std::back_inserter(out), "{}", load<T>(bytes));
  }
}

// 128 bits, low half first, in decimal digits.
void append_wide(std::string_view bytes, bool with_sign, std::string& out) {
  if (bytes.size() != 4 * sizeof(std::uint32_t)) {
    out.append(bytes);
    return;
  }
  auto parts = load<std::array<std::uint32_t, 4>>(bytes);
  if (with_sign && parts[3] >> 31U != 0) {
    out.push_back('-');
    std::uint64_t carry = 1;
    for (std::uint32_t& part : parts) {
      carry += static_cast<std::uint32_t>(~part);
      part = static_cast<std::uint32_t>(carry);
      carry >>= 32U;
    }
  }
  std::string digits;
  do {
    std::uint64_t rest = 0;
    for (std::size_t i = parts.size(); i-- > 0;) {
      const std::uint64_t here = rest << 32U | parts[i];
      parts[i] = static_cast<std::uint32_t>(here / 10);
      rest = here % 10;
    }
    digits.push_back(static_cast<char>('0' + rest));
  } while (parts != std::array<std::uint32_t, 4>{});
  out.append(digits.rbegin(), digits.rend());
}

bool fits(std::size_t size) { return size >= 1 && size <= kMaxHeaderPart; }

}  // namespace

Result<void> decode_user_headers(std::string_view block, std::vector<UserHeader>& out) {
  out.clear();
  ByteReader reader(block);
  while (!reader.ended()) {
    const std::size_t at = reader.at();
    UserHeader header;
    if (!read_part(reader, header.key_kind, header.key) || !read_part(reader, header.value_kind, header.value)) {
      return fail(
          Error::record(ErrorCode::malformed,
                        fmt::format("the {} bytes of user headers hold no header at byte {}; the producer of the "
                                    "message wrote something else there",
                                    block.size(), at)));
    }
    out.push_back(header);
  }
  return {};
}

Result<void> encode_user_header(const UserHeader& header, ByteBuffer& block) {
  const std::size_t size = 2 + 2 * sizeof(std::uint32_t) + header.key.size() + header.value.size();
  if (!fits(header.key.size()) || !fits(header.value.size()) || block.size() + size > kMaxHeaderBlock) {
    return fail(Error::record(
        ErrorCode::too_large,
        fmt::format(
            "a header with a name of {} and a value of {} bytes cannot be sent to Iggy: each has 1 to {} bytes, "
            "all of a message together {} at most",
            header.key.size(), header.value.size(), kMaxHeaderPart, kMaxHeaderBlock)));
  }
  ByteWriter to(block);
  to.number(header.key_kind);
  to.block(header.key);
  to.number(header.value_kind);
  to.block(header.value);
  return {};
}

bool is_text(HeaderKind kind) noexcept { return kind < HeaderKind::boolean || kind > HeaderKind::float64; }

void append_text(HeaderKind kind, std::string_view bytes, std::string& out) {
  switch (kind) {
    case HeaderKind::boolean:
      out.append(bytes.size() != 1 ? bytes : bytes[0] != 0 ? std::string_view("true") : std::string_view("false"));
      return;
    case HeaderKind::int8:
      return append_number<std::int8_t>(bytes, out);
    case HeaderKind::int16:
      return append_number<std::int16_t>(bytes, out);
    case HeaderKind::int32:
      return append_number<std::int32_t>(bytes, out);
    case HeaderKind::int64:
      return append_number<std::int64_t>(bytes, out);
    case HeaderKind::int128:
      return append_wide(bytes, true, out);
    case HeaderKind::uint8:
      return append_number<std::uint8_t>(bytes, out);
    case HeaderKind::uint16:
      return append_number<std::uint16_t>(bytes, out);
    case HeaderKind::uint32:
      return append_number<std::uint32_t>(bytes, out);
    case HeaderKind::uint64:
      return append_number<std::uint64_t>(bytes, out);
    case HeaderKind::uint128:
      return append_wide(bytes, false, out);
    case HeaderKind::float32:
      return append_number<float>(bytes, out);
    case HeaderKind::float64:
      return append_number<double>(bytes, out);
    default:
      out.append(bytes);
  }
}

}  // namespace millrace::iggy
