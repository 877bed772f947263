// SPDX-License-Identifier: Apache-2.0
#include "tests/s3_fault_server/body_checksum.h"

#include <openssl/evp.h>

#include <array>
#include <cstdint>

namespace millrace::testing {

namespace {

// Reflected, all ones in front and behind: CRC-32, CRC-32C and CRC-64/NVME differ in width and polynomial only.
std::string crc(std::uint64_t polynomial, unsigned width, std::string_view bytes) {
  std::array<std::uint64_t, 256> table{};
  for (std::uint64_t byte = 0; byte < 256; ++byte) {
    std::uint64_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1U) ^ ((value & 1U) != 0 ? polynomial : 0);
    table[byte] = value;
  }
  const std::uint64_t ones = width == 64 ? UINT64_MAX : (std::uint64_t{1} << width) - 1;
  std::uint64_t value = ones;
  for (const char c : bytes) value = (value >> 8U) ^ table[(value ^ static_cast<unsigned char>(c)) & 0xffU];
  value ^= ones;
  std::string out;
  for (unsigned shift = width; shift > 0; shift -= 8) out += static_cast<char>(value >> (shift - 8) & 0xffU);
  return out;
}

std::string sha256(std::string_view bytes) {
  std::array<unsigned char, 32> digest{};
  EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, EVP_sha256(), nullptr);
  return {digest.begin(), digest.end()};
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    std::uint32_t group = 0;
    for (std::size_t i = at; i < at + 3; ++i) {
      group = group << 8U | (i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0U);
    }
    for (std::size_t digit = 0; digit < 4; ++digit) {
      out += at + digit <= bytes.size() ? kDigits[group >> (18 - 6 * digit) & 63U] : '=';
    }
  }
  return out;
}

}  // namespace

std::string checksum_value(std::string_view algorithm, std::string_view bytes) {
  if (algorithm == "crc32") return crc(0xEDB88320U, 32, bytes);
  if (algorithm == "crc32c") return crc(0x82F63B78U, 32, bytes);
  if (algorithm == "crc64nvme") return crc(0x9A6C9329AC4BC9B5U, 64, bytes);
  if (algorithm == "sha256") return sha256(bytes);
  return {};
}

std::string checksum_text(std::string_view algorithm, std::string_view bytes) {
  return base64(checksum_value(algorithm, bytes));
}

BodyChecksum body_checksum(const HttpRequest& request) {
  constexpr std::string_view kPrefix = "x-amz-checksum-";
  BodyChecksum found;
  for (const auto& [name, value] : request.headers) {
    if (!name.starts_with(kPrefix)) continue;
    const std::string algorithm = name.substr(kPrefix.size());
    const std::string ours = checksum_text(algorithm, request.body);
    if (ours.empty()) continue;  // x-amz-checksum-algorithm and the like
    found = {algorithm, name, ours, ours == value};
  }
  return found;
}

}  // namespace millrace::testing
