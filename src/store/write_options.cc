// SPDX-License-Identifier: Apache-2.0
#include "millrace/store/write_options.h"

namespace millrace {

std::string_view to_string(ChecksumKind kind) noexcept {
  switch (kind) {
    case ChecksumKind::none:
      return "none";
    case ChecksumKind::crc32:
      return "crc32";
    case ChecksumKind::crc32c:
      return "crc32c";
    case ChecksumKind::crc64nvme:
      return "crc64nvme";
    case ChecksumKind::sha256:
      return "sha256";
  }
  return "?";
}

std::vector<std::string_view> names_of(const ObjectSettings& settings, ChecksumKind checksum) {
  std::vector<std::string_view> names;
  if (!settings.storage_class.empty()) names.emplace_back("storage_class");
  if (settings.encryption != Encryption::none || !settings.kms_key_id.empty() || settings.bucket_key) {
    names.emplace_back("sse");
  }
  if (!settings.acl.empty()) names.emplace_back("acl");
  if (!settings.tags.empty()) names.emplace_back("tags");
  if (checksum != ChecksumKind::none) names.emplace_back("checksum");
  return names;
}

}  // namespace millrace
