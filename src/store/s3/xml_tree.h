// SPDX-License-Identifier: Apache-2.0
// How this folder walks an XML answer: by local names, with every byte of a text kept. Pure functions.
#pragma once

#include <pugixml.hpp>
#include <string_view>

#include "millrace/base/result.h"

namespace millrace::s3 {

[[nodiscard]] pugi::xml_parse_result parse_xml(std::string_view body, pugi::xml_document& document);

/// Without the namespace prefix that some servers write (`s3:Key`).
[[nodiscard]] std::string_view local_name(const pugi::xml_node& node);
/// The first of that name; an empty node when there is none.
[[nodiscard]] pugi::xml_node child(const pugi::xml_node& parent, std::string_view name);
[[nodiscard]] std::string_view text(const pugi::xml_node& parent, std::string_view name);
[[nodiscard]] pugi::xml_node root(const pugi::xml_document& document);

/// Of an answer that is not the document which was asked for.
[[nodiscard]] std::unexpected<Error> bad_document(std::string_view wanted, std::string_view why);
/// The root element, which must have this name. Its bytes are the document's.
[[nodiscard]] Result<pugi::xml_node> document_of(std::string_view body, std::string_view name,
                                                 pugi::xml_document& document);

}  // namespace millrace::s3
