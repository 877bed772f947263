// SPDX-License-Identifier: Apache-2.0
// User headers: the key-value pairs beside a message's payload. Servers do not check them, so any bytes may stand
// there; what is no header is a Record error. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/bytes.h"
#include "millrace/base/result.h"

#pragma GCC visibility push(default)
namespace millrace::iggy {

enum class HeaderKind : std::uint8_t {
  raw = 1,
  string = 2,
  boolean = 3,
  int8 = 4,
  int16 = 5,
  int32 = 6,
  int64 = 7,
  int128 = 8,
  uint8 = 9,
  uint16 = 10,
  uint32 = 11,
  uint64 = 12,
  uint128 = 13,
  float32 = 14,
  float64 = 15,
};

/// Borrows the block it was read from. A kind that has no name here is passed on as it is.
struct UserHeader {
  HeaderKind key_kind = HeaderKind::string;
  std::string_view key;
  HeaderKind value_kind = HeaderKind::string;
  std::string_view value;
  friend bool operator==(const UserHeader&, const UserHeader&) = default;
};

inline constexpr std::size_t kMaxHeaderBlock = 100'000;
inline constexpr std::size_t kMaxHeaderPart = 255;  ///< bytes of a key, and of a value

/// Replaces `out` with the headers of `block`. Fails (record, malformed) where the block is not made of headers; `out`
/// then holds those before the fault.
[[nodiscard]] Result<void> decode_user_headers(std::string_view block, std::vector<UserHeader>& out);

/// Appends one header. Fails (record) when key or value has no bytes or more than kMaxHeaderPart, or the block more
/// than kMaxHeaderBlock.
[[nodiscard]] Result<void> encode_user_header(const UserHeader& header, ByteBuffer& block);

/// Whether `bytes` of this kind are text as they stand: raw, string, and what is not known.
[[nodiscard]] bool is_text(HeaderKind kind) noexcept;
/// A number or a boolean as text ("-5", "true", "0.25"); bytes of the wrong length, and other kinds, as they are.
void append_text(HeaderKind kind, std::string_view bytes, std::string& out);

}  // namespace millrace::iggy
#pragma GCC visibility pop
