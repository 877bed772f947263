// SPDX-License-Identifier: Apache-2.0
// How one object is decompressed, decided from what the user set, its key, what the store says of it and its first
// bytes. Never by name alone (D06). Pure.
#pragma once

#include <optional>
#include <string_view>

#include "millrace/base/result.h"
#include "millrace/codec/decompressor.h"
#include "millrace/connectors/s3.h"

namespace millrace::s3_source {

/// The codec that holds for every object; nullopt: decided for each.
[[nodiscard]] std::optional<Codec> codec_of_setting(ObjectCodec setting) noexcept;

/// `first_bytes` are at least sixteen, or all that the object has; an object without bytes has nothing to decide. Fails
/// when name and bytes contradict each other, or a Content-Encoding is one that is not undone here, or the codec is not
/// built; the caller adds the key.
[[nodiscard]] Result<Codec> choose_codec(ObjectCodec setting, std::string_view key, std::string_view content_encoding,
                                         std::string_view first_bytes);

}  // namespace millrace::s3_source
