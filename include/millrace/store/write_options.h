// SPDX-License-Identifier: Apache-2.0
// What a store may be asked for beside the bytes of an object: how it keeps them, and a checksum of what arrived. The
// words are S3's; a store that cannot do one of them says not_supported and names it. Plain values; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#pragma GCC visibility push(default)
namespace millrace {

/// Who encrypts the object where it lies.
enum class Encryption : std::uint8_t {
  none,    ///< nothing is asked for: the bucket's own rule holds
  aes256,  ///< keys of the store (SSE-S3)
  kms,     ///< a key of a key service (SSE-KMS)
};

/// How an object is kept. What is left empty is not asked for.
struct ObjectSettings {
  std::string storage_class{};  ///< "STANDARD_IA"
  Encryption encryption = Encryption::none;
  std::string kms_key_id{};          ///< with kms; empty: the account's own key
  std::optional<bool> bucket_key{};  ///< with kms: one data key for many objects; unset: the bucket's rule
  std::string acl{};                 ///< a canned one: "bucket-owner-full-control"
  std::vector<std::pair<std::string, std::string>> tags{};  ///< plain text; S3 takes ten
  friend bool operator==(const ObjectSettings&, const ObjectSettings&) = default;
};

/// A checksum that travels with the bytes and that the store compares with what has arrived.
enum class ChecksumKind : std::uint8_t { none, crc32, crc32c, crc64nvme, sha256 };
/// "none", "crc32", "crc32c", "crc64nvme", "sha256"
[[nodiscard]] std::string_view to_string(ChecksumKind) noexcept;

/// The names of what is asked for, as options are called: storage_class, sse, acl, tags, checksum. For messages.
[[nodiscard]] std::vector<std::string_view> names_of(const ObjectSettings& settings,
                                                     ChecksumKind checksum = ChecksumKind::none);

}  // namespace millrace
#pragma GCC visibility pop
