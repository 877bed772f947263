// SPDX-License-Identifier: Apache-2.0
#include "store/checksum/checksum.h"

#include <aws/checksums/checksums.h>
#include <aws/checksums/crc.h>
#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <vector>

namespace millrace {
namespace {

const std::uint8_t* data_of(std::string_view bytes) { return reinterpret_cast<const std::uint8_t*>(bytes.data()); }

// The library would choose its routines at the first call, in whatever threads make it.
void make_ready() {
  static const bool ready = [] {
    aws_checksums_library_init(aws_default_allocator());
    return true;
  }();
  (void)ready;
}

template <class Number>
std::string big_endian(Number value) {
  std::string bytes(sizeof value, '\0');
  for (auto at = bytes.rbegin(); at != bytes.rend(); ++at, value >>= 8U) *at = static_cast<char>(value & 0xffU);
  return bytes;
}

/// The value itself, first byte first.
std::string value_of(ChecksumKind kind, std::string_view bytes) {
  make_ready();
  switch (kind) {
    case ChecksumKind::none:
      return {};
    case ChecksumKind::crc32:
      return big_endian(aws_checksums_crc32_ex(data_of(bytes), bytes.size(), 0));
    case ChecksumKind::crc32c:
      return big_endian(aws_checksums_crc32c_ex(data_of(bytes), bytes.size(), 0));
    case ChecksumKind::crc64nvme:
      return big_endian(aws_checksums_crc64nvme_ex(data_of(bytes), bytes.size(), 0));
    case ChecksumKind::sha256: {
      std::string digest(32, '\0');
      EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(digest.data()), nullptr, EVP_sha256(),
                 nullptr);
      return digest;
    }
  }
  return {};
}

std::size_t value_size(ChecksumKind kind) {
  if (kind == ChecksumKind::sha256) return 32;
  return kind == ChecksumKind::crc64nvme ? 8 : 4;
}

std::string to_base64(std::string_view value) {
  std::string text((value.size() + 2) / 3 * 4, '\0');
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), data_of(value), static_cast<int>(value.size()));
  return text;
}

std::optional<std::string> from_base64(std::string_view text, std::size_t size) {
  if (text.size() != (size + 2) / 3 * 4) return std::nullopt;
  std::string value(text.size(), '\0');
  const int decoded =
      EVP_DecodeBlock(reinterpret_cast<unsigned char*>(value.data()), data_of(text), static_cast<int>(text.size()));
  if (decoded < 0) return std::nullopt;
  value.resize(size);  // OpenSSL counts the padding as bytes
  // It also takes blanks, and bytes where padding belongs.
  if (to_base64(value) != text) return std::nullopt;
  return value;
}

std::uint64_t number_of(std::string_view value) {
  std::uint64_t number = 0;
  for (const char byte : value) number = number << 8U | static_cast<unsigned char>(byte);
  return number;
}

}  // namespace

std::string checksum_of(ChecksumKind kind, std::string_view bytes) { return to_base64(value_of(kind, bytes)); }

std::optional<std::string> checksum_of_parts(ChecksumKind kind, std::span<const PartResult> parts) {
  if (kind == ChecksumKind::none) return std::nullopt;
  make_ready();
  std::string values;
  std::uint64_t whole = 0;
  for (const PartResult& part : parts) {
    const auto value = from_base64(part.checksum, value_size(kind));
    if (!value) return std::nullopt;
    values += *value;
    whole = aws_checksums_crc64nvme_combine(whole, number_of(*value), part.size);
  }
  if (kind == ChecksumKind::crc64nvme) return to_base64(big_endian(whole));
  return fmt::format("{}-{}", checksum_of(kind, values), parts.size());
}

}  // namespace millrace
