// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "config/node.h"
#include "millrace/config/config.h"

namespace millrace {
namespace {

using Node = ConfigSection::Element;
using Kind = ConfigSection::Kind;
using IsSecret = std::function<bool(std::string_view path)>;

/// True when `text` can stand without quotes and is read back as the same text: a plain word, path, url or number.
bool is_plain(std::string_view text) {
  if (text.empty() || text.size() > 200) return false;
  for (const char c : text) {
    const bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!word && std::string_view("_-./:+@").find(c) == std::string_view::npos) return false;
  }
  const char first = text.front();
  if (first == '-' || first == ':' || first == '@' || text.back() == ':' || text == "." || text == "...") return false;
  for (const std::string_view null : {"null", "Null", "NULL"}) {
    if (text == null) return false;
  }
  return true;
}

/// In double quotes, every dollar doubled so that it is not taken for a variable. Line breaks and control characters
/// become escapes.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '$') {
      out += "$$";
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else if (byte < 0x20 || byte == 0x7F) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out += '"';
}

std::string scalar_text(const Node& node, const std::string& path, const IsSecret& is_secret) {
  if (node.kind == Kind::null) return "null";
  if (is_secret(path)) return !node.expression.empty() ? fmt::format("\"{}\"", node.expression) : "\"***\"";
  return !node.quoted && is_plain(node.text) ? node.text : quoted(node.text);
}

void write(const Node& node, const std::string& path, std::size_t indent, const IsSecret& is_secret, std::string& out);

/// What stands behind "key:" or "-".
void write_value(const Node& node, const std::string& path, std::size_t indent, const IsSecret& is_secret,
                 std::string& out) {
  if (node.kind == Kind::mapping && node.entries.empty()) {
    out += " {}\n";
  } else if (node.kind == Kind::sequence && node.items.empty()) {
    out += " []\n";
  } else if (node.kind == Kind::mapping || node.kind == Kind::sequence) {
    out += '\n';
    write(node, path, indent + 2, is_secret, out);
  } else {
    out += ' ' + scalar_text(node, path, is_secret) + '\n';
  }
}

void write(const Node& node, const std::string& path, std::size_t indent, const IsSecret& is_secret, std::string& out) {
  for (const Node::Entry& entry : node.entries) {
    out.append(indent, ' ');
    out += (is_plain(entry.key) ? entry.key : quoted(entry.key)) + ':';
    write_value(*entry.value, path.empty() ? entry.key : path + "." + entry.key, indent, is_secret, out);
  }
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    out.append(indent, ' ');
    out += '-';
    write_value(*node.items[i], fmt::format("{}[{}]", path, i), indent, is_secret, out);
  }
}

}  // namespace

std::string Config::to_yaml(const std::function<bool(std::string_view path)>& is_secret) const {
  std::string out;
  if (root_) write(*root_, "", 0, is_secret, out);
  return out.empty() ? "{}\n" : out;
}

}  // namespace millrace
