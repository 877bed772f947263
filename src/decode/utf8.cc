// SPDX-License-Identifier: Apache-2.0
#include "decode/utf8.h"

#include <simdjson.h>

namespace millrace {

bool is_utf8(std::string_view bytes) noexcept { return simdjson::validate_utf8(bytes.data(), bytes.size()); }

}  // namespace millrace
