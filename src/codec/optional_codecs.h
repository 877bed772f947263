// SPDX-License-Identifier: Apache-2.0
// The codecs whose library may be missing when Millrace is built. All that depends on it is here and in the .cc.
#pragma once

#include <memory>
#include <string_view>

#include "millrace/codec/decompressor.h"

namespace millrace::codec {

/// Null when `codec` is not one of them, or not built.
[[nodiscard]] std::unique_ptr<Decompressor> make_optional_decompressor(Codec codec, const DecompressorOptions& options);

}  // namespace millrace::codec
