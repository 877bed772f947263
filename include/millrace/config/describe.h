// SPDX-License-Identifier: Apache-2.0
// Describe: a component's keys as text for a terminal, as a page of the documentation, as a JSON schema for an editor.
// All three come from the schema, so they cannot drift from the parser. Pure functions; any thread.
#pragma once

#include <string>
#include <string_view>

#include "millrace/config/schema.h"

#pragma GCC visibility push(default)
namespace millrace {

/// For a terminal, at most `width` columns where words allow it.
[[nodiscard]] std::string describe_text(const ComponentDescription& component, std::size_t width = 100);
/// One page: a heading, the summary, a table of keys per section.
[[nodiscard]] std::string describe_markdown(const ComponentDescription& component);
/// JSON Schema (draft 2020-12) of the section. Variables (`${NAME}`) are allowed wherever a value is.
[[nodiscard]] std::string describe_json_schema(const ComponentDescription& component);

/// True when the option at `path` below the component ("store.secret_access_key") is declared secret. Keys of a map
/// are secret when the map is.
[[nodiscard]] bool is_secret_option(const ComponentDescription& component, std::string_view path);

}  // namespace millrace
#pragma GCC visibility pop
