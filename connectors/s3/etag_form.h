// SPDX-License-Identifier: Apache-2.0
// The spellings of one ETag: stores and what stands before them quote it in a listing and not in an answer, or mark it
// weak on the way. Compared is what lies within; sent is the spelling that the store itself gives with an object. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace millrace::s3_source {

/// How the ETag of a listing is put into If-Match.
enum class TagForm : std::uint8_t { as_listed, quoted, bare };

/// What lies within the quotes, without W/. Equal for every spelling of one tag, the weak one too, which names no exact
/// bytes.
[[nodiscard]] std::string_view opaque_tag(std::string_view etag) noexcept;
/// quoted or bare.
[[nodiscard]] TagForm form_of(std::string_view etag) noexcept;
[[nodiscard]] std::string in_form(std::string_view etag, TagForm form);

}  // namespace millrace::s3_source
