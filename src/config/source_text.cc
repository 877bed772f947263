// SPDX-License-Identifier: Apache-2.0
#include "config/source_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/substitution.h"
#include "millrace/base/utf8.h"

namespace millrace {
namespace {

std::vector<std::size_t> line_starts(std::string_view text) {
  std::vector<std::size_t> starts{0};
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') starts.push_back(i + 1);
  }
  return starts;
}

}  // namespace

SourceText::SourceText(std::string_view text, const std::string& file, const Config::Environment& environment,
                       ConfigProblems& problems)
    : text_(text.starts_with("\xEF\xBB\xBF") ? text.substr(3) : text), file_(file), lines_(line_starts(text_)) {
  check_bytes(problems);
  if (problems.empty()) mark(environment, problems);
  marked_lines_ = line_starts(marked_);
}

void SourceText::check_bytes(ConfigProblems& problems) const {
  if (const std::size_t bad = first_invalid_utf8(text_); bad != std::string_view::npos) {
    problems.add(to_string(file_, place_of(bad)), "this is not UTF-8 text; save the file as UTF-8");
    return;
  }
  for (std::size_t i = 0; i < text_.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text_[i]);
    const bool line_break = byte == '\n' || (byte == '\r' && i + 1 < text_.size() && text_[i + 1] == '\n');
    if ((byte < 0x20 && byte != '\t' && !line_break) || byte == 0x7F) {
      problems.add(to_string(file_, place_of(i)),
                   fmt::format("control character 0x{:02x}; write it as \"\\x{:02x}\" in double quotes if it is meant",
                               byte, byte));
      return;
    }
  }
}

void SourceText::mark(const Config::Environment& environment, ConfigProblems& problems) {
  // Letters and digits only, so that no rule of YAML sees anything but a word; longer until the file does not hold it.
  marker_ = "zVARz";
  while (text_.find(marker_) != std::string::npos) marker_ += 'z';
  marked_.reserve(text_.size());
  std::size_t at = 0;
  while (at < text_.size()) {
    const std::size_t dollar = std::min(text_.find('$', at), text_.size());
    marked_.append(text_, at, dollar - at);
    at = dollar;
    if (at == text_.size()) break;
    const char next = at + 1 < text_.size() ? text_[at + 1] : '\0';
    if (next == '$') {
      append_edit("$", at, 2);
      at += 2;
    } else if (next == '{') {
      at = mark_variable(at, environment, problems);
    } else {
      marked_ += '$';
      ++at;
    }
  }
}

std::size_t SourceText::mark_variable(std::size_t at, const Config::Environment& environment,
                                      ConfigProblems& problems) {
  const std::size_t end = text_.find_first_of("}\n", at);
  Variable variable;
  variable.place = place_of(at);
  if (end == std::string::npos || text_[end] == '\n') {
    problems.add(to_string(file_, variable.place),
                 "'${' has no '}' on its line; write '$$' for a dollar that is meant as such");
    marked_ += "${";
    return at + 2;
  }
  const std::string written = text_.substr(at, end + 1 - at);
  // Without its default, which may be the secret itself.
  variable.expression = written.substr(0, written.find_first_of(":}")) + "}";
  auto value = resolve_variable(std::string_view(written).substr(2, end - at - 2), environment);
  if (value) {
    variable.value = *std::move(value);
  } else {
    variable.problem = value.error().message();
  }
  append_edit(fmt::format("{}{}z", marker_, variables_.size()), at, written.size());
  variables_.push_back(std::move(variable));
  return end + 1;
}

void SourceText::append_edit(std::string_view replacement, std::size_t at, std::size_t length) {
  const auto line = static_cast<std::size_t>(std::upper_bound(lines_.begin(), lines_.end(), at) - lines_.begin()) - 1;
  // An edit never holds a line break, so both texts have the same lines.
  const std::size_t marked_start = marked_.rfind('\n') == std::string::npos ? 0 : marked_.rfind('\n') + 1;
  Edit edit;
  edit.line = line;
  edit.begin = at - lines_[line];
  edit.column = edit.begin + length;
  edit.marked_begin = marked_.size() - marked_start;
  edit.marked_column = edit.marked_begin + replacement.size();
  marked_ += replacement;
  edits_.push_back(edit);
}

ConfigPlace SourceText::place_of(std::size_t offset) const {
  const auto line = std::upper_bound(lines_.begin(), lines_.end(), offset) - lines_.begin();
  const std::size_t start = lines_[static_cast<std::size_t>(line) - 1];
  return {static_cast<std::size_t>(line), count_characters(std::string_view(text_).substr(start, offset - start)) + 1};
}

ConfigPlace SourceText::place(std::size_t line, std::size_t column) const {
  std::size_t original = column;
  const auto first = std::lower_bound(edits_.begin(), edits_.end(), line,
                                      [](const Edit& edit, std::size_t wanted) { return edit.line < wanted; });
  for (auto edit_at = first; edit_at != edits_.end() && edit_at->line == line; ++edit_at) {
    const Edit& edit = *edit_at;
    if (edit.marked_begin >= column) break;
    // Inside a marker there is only one place to name: where the variable begins.
    original = column < edit.marked_column ? edit.begin : column - edit.marked_column + edit.column;
  }
  if (line >= lines_.size()) return place_of(text_.size());
  return place_of(std::min(lines_[line] + original, text_.size()));
}

std::string_view SourceText::rest_of_line(std::size_t line, std::size_t column) const {
  if (line >= marked_lines_.size()) return {};
  const std::string_view all = marked_;
  const std::size_t begin = std::min(marked_lines_[line] + column, all.size());
  return all.substr(begin, std::min(all.find('\n', begin), all.size()) - begin);
}

bool SourceText::quote_is_closed(std::size_t line, std::size_t column) const {
  if (line >= marked_lines_.size()) return false;
  std::size_t at = marked_lines_[line] + column;
  if (at >= marked_.size()) return false;
  const char quote = marked_[at];
  if (quote != '"' && quote != '\'') return true;  // a block scalar
  for (++at; at < marked_.size(); ++at) {
    if (marked_[at] == '\\' && quote == '"') {
      ++at;
    } else if (marked_[at] == quote) {
      if (quote == '\'' && at + 1 < marked_.size() && marked_[at + 1] == quote) {
        ++at;
      } else {
        return true;
      }
    }
  }
  return false;
}

bool SourceText::indented_by_tab(std::size_t line) const {
  const std::string_view text = rest_of_line(line, 0);
  const std::size_t first = text.find_first_not_of(' ');
  return first != std::string_view::npos && text[first] == '\t';
}

std::optional<std::size_t> SourceText::variable_at(std::string_view scalar, std::size_t& at) const {
  std::size_t index = 0;
  std::size_t digits = at;
  while (digits < scalar.size() && scalar[digits] >= '0' && scalar[digits] <= '9' && index < variables_.size()) {
    index = index * 10 + static_cast<std::size_t>(scalar[digits++] - '0');
  }
  // Anything else is text that escapes have put together.
  if (digits == at || digits == scalar.size() || scalar[digits] != 'z' || index >= variables_.size()) return {};
  at = digits + 1;
  return index;
}

SourceText::Filled SourceText::fill(std::string_view scalar, ConfigProblems& problems) const {
  Filled filled;
  bool only_variables = true;
  const auto keep = [&](std::string_view text) {
    filled.text += text;
    only_variables = only_variables && text.empty();
  };
  for (std::size_t at = 0;;) {
    const std::size_t found = scalar.find(marker_, at);
    keep(scalar.substr(at, found - at));
    if (found == std::string_view::npos) {
      if (!only_variables) filled.expression.clear();
      return filled;
    }
    at = found + marker_.size();
    if (const auto index = variable_at(scalar, at)) {
      const Variable& variable = variables_[*index];
      if (!variable.problem.empty()) problems.add(to_string(file_, variable.place), variable.problem);
      filled.text += variable.value;
      filled.expression += variable.expression;
    } else {
      keep(marker_);
    }
  }
}

}  // namespace millrace
