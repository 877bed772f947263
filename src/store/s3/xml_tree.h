// SPDX-License-Identifier: Apache-2.0
// How this folder walks an XML answer: by local names, with every byte of a text kept. Pure functions.
#pragma once

#include <pugixml.hpp>
#include <string_view>

namespace millrace::s3 {

[[nodiscard]] pugi::xml_parse_result parse_xml(std::string_view body, pugi::xml_document& document);

/// Without the namespace prefix that some servers write (`s3:Key`).
[[nodiscard]] std::string_view local_name(const pugi::xml_node& node);
/// The first of that name; an empty node when there is none.
[[nodiscard]] pugi::xml_node child(const pugi::xml_node& parent, std::string_view name);
[[nodiscard]] std::string_view text(const pugi::xml_node& parent, std::string_view name);
[[nodiscard]] pugi::xml_node root(const pugi::xml_document& document);

}  // namespace millrace::s3
