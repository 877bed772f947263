// SPDX-License-Identifier: Apache-2.0
#include "cli/toml_adapter.h"

#include <fmt/format.h>

#include <toml++/toml.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

namespace millrace::cli {
namespace {

TomlValue converted(const toml::node& node) {
  TomlValue value;
  if (const toml::table* table = node.as_table()) {
    std::vector<std::pair<toml::source_position, TomlMember>> members;
    for (const auto& [key, member] : *table) {
      members.push_back({key.source().begin, {std::string(key.str()), converted(member)}});
    }
    // The library keeps names sorted; people wrote them in another order.
    std::ranges::sort(members, {}, [](const auto& one) { return std::pair(one.first.line, one.first.column); });
    for (auto& member : members) value.members.push_back(std::move(member.second));
  } else if (const toml::array* array = node.as_array()) {
    value.kind = TomlValue::Kind::list;
    for (const toml::node& item : *array) value.items.push_back(converted(item));
  } else if (const auto* text = node.as_string()) {
    value.kind = TomlValue::Kind::string;
    value.text = text->get();
  } else if (const auto* whole = node.as_integer()) {
    value.kind = TomlValue::Kind::integer;
    value.text = std::to_string(whole->get());
  } else if (const auto* truth = node.as_boolean()) {
    value.kind = TomlValue::Kind::boolean;
    value.text = truth->get() ? "true" : "false";
  } else if (const auto* number = node.as_floating_point()) {
    value.kind = TomlValue::Kind::number;
    value.text = fmt::format("{}", number->get());
  } else {
    value.kind = TomlValue::Kind::other;
    std::ostringstream out;
    node.visit([&](const auto& other) { out << other; });
    value.text = out.str();
  }
  return value;
}

}  // namespace

const TomlValue* TomlValue::find(std::string_view name) const noexcept {
  const auto found = std::ranges::find(members, name, [](const auto& member) { return std::string_view(member.name); });
  return found == members.end() ? nullptr : &found->value;
}

Result<TomlValue> read_toml(const std::string& file) {
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  if (!in) {
    return fail(Error::fatal(ErrorCode::not_found, fmt::format("{} cannot be opened: {}", file, std::strerror(errno))));
  }
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (in.bad()) return fail(Error::fatal(ErrorCode::io, fmt::format("{} cannot be read", file)));
  try {
    return converted(toml::parse(text, file));
  } catch (const toml::parse_error& error) {
    const toml::source_position at = error.source().begin;
    return fail(Error::config(fmt::format("{}:{}:{}: is no TOML: {}", file, at.line, at.column, error.description())));
  }
}

}  // namespace millrace::cli
