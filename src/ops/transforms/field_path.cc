// SPDX-License-Identifier: Apache-2.0
#include "millrace/ops/field_path.h"

#include <fmt/format.h>

#include "millrace/base/printable.h"
#include "millrace/base/utf8.h"

namespace millrace {

Result<FieldPath> FieldPath::parse(std::string_view text) {
  const auto refuse = [&](std::string_view why) {
    return fail(Error::config(fmt::format("'{}' is no path: {}", printable(text, 200), why)));
  };
  if (first_invalid_utf8(text) != std::string_view::npos) return refuse("it is not UTF-8");
  FieldPath path{{""}};
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '.') {
      if (path.names.back().empty()) break;
      path.names.emplace_back();
    } else if (text[at] == '\\') {
      ++at;
      if (at == text.size() || (text[at] != '.' && text[at] != '\\')) {
        return refuse("a backslash stands before a dot or another backslash only");
      }
      path.names.back() += text[at];
    } else {
      path.names.back() += text[at];
    }
  }
  if (path.names.back().empty()) {
    return refuse("a name in it is empty; write the path as a list, [\"\"], where a name really is");
  }
  return path;
}

std::string FieldPath::text() const {
  std::string text;
  for (const std::string& name : names) {
    if (&name != names.data()) text += '.';
    for (const char c : name) {
      if (c == '.' || c == '\\') text += '\\';
      text += c;
    }
  }
  return text;
}

}  // namespace millrace
