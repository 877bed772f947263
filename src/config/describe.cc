// SPDX-License-Identifier: Apache-2.0
#include "millrace/config/describe.h"

#include <fmt/format.h>

#include <algorithm>

namespace millrace {
namespace {

/// `text` in lines of at most `width`, each behind `indent` spaces.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t width) {
  std::string out;
  std::string line;
  const auto end_line = [&] {
    if (!line.empty()) out += std::string(indent, ' ') + line + '\n';
    line.clear();
  };
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (!line.empty() && indent + line.size() + 1 + word.size() > width) end_line();
    if (!line.empty()) line += ' ';
    line += word;
  }
  end_line();
  return out;
}

/// "integer, 1 to 4096, default 4".
std::string facts(const OptionDescription& option) {
  std::string text = option.type;
  if (!option.range.empty()) text += ", " + option.range;
  if (option.required) text += ", required";
  if (!option.default_text.empty()) text += ", default " + option.default_text;
  if (option.secret) text += ", secret";
  return text;
}

void text_of(const std::vector<OptionDescription>& options, std::size_t indent, std::size_t width, std::string& out) {
  for (const OptionDescription& option : options) {
    out += fmt::format("{:{}}{}  ({})\n", "", indent, option.name, facts(option));
    out += wrapped(option.meaning, indent + 4, width);
    if (!option.aliases.empty()) {
      out += wrapped(fmt::format("Also written: {}", fmt::join(option.aliases, ", ")), indent + 4, width);
    }
    if (!option.example.empty()) out += fmt::format("{:{}}Example: {}\n", "", indent + 4, option.example);
    text_of(option.nested, indent + 2, width, out);
  }
}

std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string code(std::string_view text) { return text.empty() ? "" : fmt::format("`{}`", cell(text)); }

void markdown_of(const std::string& prefix, const std::vector<OptionDescription>& options, std::string& out) {
  if (options.empty()) return;
  out += "\n| Key | Type | Default | Meaning |\n|---|---|---|---|\n";
  for (const OptionDescription& option : options) {
    std::string type = cell(option.type);
    if (!option.range.empty()) type += ", " + cell(option.range);
    std::string meaning = cell(option.meaning);
    if (option.secret) meaning += " Secret.";
    if (!option.example.empty()) meaning += fmt::format(" Example: {}", code(option.example));
    if (!option.aliases.empty()) {
      meaning += " Also written:";
      for (const std::string& alias : option.aliases) meaning += " " + code(alias);
    }
    out += fmt::format("| {} | {} | {} | {} |\n", code(prefix + option.name), type,
                       option.required ? "required" : code(option.default_text), meaning);
  }
  for (const OptionDescription& option : options) {
    if (option.nested.empty()) continue;
    out += fmt::format("\n### {}\n\n{}\n", code(prefix + option.name), option.meaning);
    markdown_of(prefix + option.name + ".", option.nested, out);
  }
}

}  // namespace

std::string describe_text(const ComponentDescription& component, std::size_t width) {
  std::string out = fmt::format("{}\n", component.name);
  out += wrapped(component.summary, 2, width);
  if (!component.options.empty()) out += '\n';
  text_of(component.options, 2, width, out);
  return out;
}

std::string describe_markdown(const ComponentDescription& component) {
  std::string out = fmt::format("# {}\n\n{}\n", component.name, component.summary);
  if (component.options.empty()) out += "\nIt has no keys.\n";
  markdown_of("", component.options, out);
  return out;
}

bool is_secret_option(const ComponentDescription& component, std::string_view path) {
  const std::vector<OptionDescription>* options = &component.options;
  while (true) {
    const std::string_view key = path.substr(0, path.find_first_of(".["));
    const auto found = std::ranges::find_if(*options, [&](const OptionDescription& option) {
      return option.name == key || std::ranges::find(option.aliases, key) != option.aliases.end();
    });
    if (found == options->end()) return false;
    if (found->secret) return true;
    if (key.size() >= path.size()) return false;
    path.remove_prefix(key.size() + 1);
    options = &found->nested;
  }
}

}  // namespace millrace
