// SPDX-License-Identifier: Apache-2.0
#include "store/s3/xml_tree.h"

#include <fmt/format.h>

#include "millrace/base/printable.h"

namespace millrace::s3 {

namespace {

// Blanks are bytes of keys: nothing is trimmed, no line end is rewritten, no encoding is guessed.
constexpr unsigned kParse = pugi::parse_escapes | pugi::parse_cdata | pugi::parse_ws_pcdata_single;

}  // namespace

pugi::xml_parse_result parse_xml(std::string_view body, pugi::xml_document& document) {
  return document.load_buffer(body.data(), body.size(), kParse, pugi::encoding_utf8);
}

std::string_view local_name(const pugi::xml_node& node) {
  const std::string_view name = node.name();
  const auto colon = name.rfind(':');
  return colon == name.npos ? name : name.substr(colon + 1);
}

pugi::xml_node child(const pugi::xml_node& parent, std::string_view name) {
  for (const pugi::xml_node& node : parent.children()) {
    if (node.type() == pugi::node_element && local_name(node) == name) return node;
  }
  return {};
}

std::string_view text(const pugi::xml_node& parent, std::string_view name) { return child(parent, name).text().get(); }

pugi::xml_node root(const pugi::xml_document& document) {
  for (const pugi::xml_node& node : document.children()) {
    if (node.type() == pugi::node_element) return node;
  }
  return {};
}

std::unexpected<Error> bad_document(std::string_view wanted, std::string_view why) {
  return fail(Error::retryable(ErrorCode::bad_response, fmt::format("the answer is no {}: {}", wanted, why)));
}

Result<pugi::xml_node> document_of(std::string_view body, std::string_view name, pugi::xml_document& document) {
  if (body.empty()) return bad_document(name, "it is empty");
  const auto parsed = parse_xml(body, document);
  if (!parsed) {
    return bad_document(name, fmt::format("{} at byte {} of {}", parsed.description(), parsed.offset, body.size()));
  }
  const pugi::xml_node found = root(document);
  if (local_name(found) != name)
    return bad_document(name, fmt::format("its root is <{}>", printable(found.name(), 40)));
  return found;
}

}  // namespace millrace::s3
