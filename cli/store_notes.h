// SPDX-License-Identifier: Apache-2.0
// What a table of keys cannot say of stores: whose credentials are taken, and which rights they need.
#pragma once

#include <string_view>

namespace millrace::cli {

/// Sections of the page of the `store` map, as Markdown.
[[nodiscard]] std::string_view store_notes();

}  // namespace millrace::cli
