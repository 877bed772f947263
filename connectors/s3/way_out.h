// SPDX-License-Identifier: Apache-2.0
// How to go on where an object is not what it was, in the words that every message has for it. Pure.
#pragma once

#include <string_view>

namespace millrace::s3_source {

inline constexpr std::string_view kStartOver =
    "start over with --reset and an emptied output, since what was written stays";

/// Of an object that cannot be read to its end: mended it would be another, and what is committed of it be lost.
inline constexpr std::string_view kGoPast =
    "go past it first with on_object_error: quarantine, and mend it then (--retry-quarantined)";

/// Of an object that is, or will be, set aside.
inline constexpr std::string_view kRetry = "`millrace run FILE --retry-quarantined` reads what stands there then";

}  // namespace millrace::s3_source
