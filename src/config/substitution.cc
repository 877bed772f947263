// SPDX-License-Identifier: Apache-2.0
#include "config/substitution.h"

#include <fmt/format.h>

#include "millrace/base/utf8.h"

namespace millrace {
namespace {

bool is_name(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_'; };
  if (text.empty() || !letter(text.front())) return false;
  for (const char c : text) {
    if (!letter(c) && !(c >= '0' && c <= '9')) return false;
  }
  return true;
}

/// A value is text of one scalar; these would not survive being shown or written back.
Result<std::string> checked(std::string_view name, std::string value) {
  if (value.find_first_of("\r\n") != std::string::npos) {
    return fail(Error::config(fmt::format(
        "the value of ${{{}}} holds a line break; give the text in a file, by an option that takes a file's name",
        name)));
  }
  if (value.find('\0') != std::string::npos || first_invalid_utf8(value) != std::string_view::npos) {
    return fail(Error::config(fmt::format("the value of ${{{}}} is not UTF-8 text", name)));
  }
  return value;
}

}  // namespace

Result<std::string> resolve_variable(std::string_view inside, const Config::Environment& environment) {
  const std::size_t colon = std::min(inside.find(':'), inside.size());
  const std::string_view name = inside.substr(0, colon);
  const std::string_view form = inside.substr(colon, 2);
  const std::string_view rest = inside.substr(std::min(colon + 2, inside.size()));
  if (!is_name(name) || (!form.empty() && form != ":-" && form != ":?")) {
    return fail(Error::config(
        fmt::format("'${{{}}}' is no variable; write ${{NAME}}, ${{NAME:-default}} or ${{NAME:?what to say when it is "
                    "missing}}, or $$ for a dollar",
                    inside)));
  }
  if (rest.find("${") != std::string_view::npos) {
    return fail(Error::config(fmt::format("${{{}}}: a default cannot hold a variable", name)));
  }
  std::optional<std::string> value = environment(name);
  if (form.empty()) {
    if (value) return checked(name, *std::move(value));
    return fail(Error::config(fmt::format("variable {} is not set; set it, or write ${{{}:-default}}", name, name)));
  }
  if (value && !value->empty()) return checked(name, *std::move(value));
  if (form == ":-") return std::string(rest);
  return fail(Error::config(fmt::format("variable {} is {}: {}", name, value ? "empty" : "not set",
                                        rest.empty() ? std::string_view("it is needed") : rest)));
}

}  // namespace millrace
