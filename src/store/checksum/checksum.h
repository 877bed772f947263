// SPDX-License-Identifier: Apache-2.0
// Checksums in the spelling of S3: base64 of the big-endian value. Pure functions; any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "millrace/store/upload.h"
#include "millrace/store/write_options.h"

#pragma GCC visibility push(default)  // to the component of the S3 store
namespace millrace {

/// Empty for `none`.
[[nodiscard]] std::string checksum_of(ChecksumKind kind, std::string_view bytes);

/// The checksum that S3 gives an object of these parts: of the whole object for crc64nvme; for the others a checksum of
/// the parts' checksums with a dash and their number behind it. Nothing when one of them is none of this kind, and for
/// `none`.
[[nodiscard]] std::optional<std::string> checksum_of_parts(ChecksumKind kind, std::span<const PartResult> parts);

}  // namespace millrace
#pragma GCC visibility pop
