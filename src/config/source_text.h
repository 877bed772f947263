// SPDX-License-Identifier: Apache-2.0
// SourceText: a file's text made ready for the YAML parser: checked bytes, variables replaced by marker words that no
// YAML rule can see into, and the way back from a place in the marked text to the place a person sees. A value.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/node.h"
#include "millrace/config/config.h"

namespace millrace {

class SourceText {
 public:
  /// Checks the bytes of `text` and marks its variables. What is wrong is added to `problems`.
  SourceText(std::string_view text, const std::string& file, const Config::Environment& environment,
             ConfigProblems& problems);

  /// What the parser reads.
  [[nodiscard]] const std::string& marked() const noexcept { return marked_; }
  /// 0-based line and byte column of marked() to the place in the file.
  [[nodiscard]] ConfigPlace place(std::size_t line, std::size_t column) const;
  /// What follows a place of marked() on its line.
  [[nodiscard]] std::string_view rest_of_line(std::size_t line, std::size_t column) const;
  /// True when the quoted scalar that begins there has its closing quote.
  [[nodiscard]] bool quote_is_closed(std::size_t line, std::size_t column) const;
  /// True when the line begins with a tab, or with spaces and a tab.
  [[nodiscard]] bool indented_by_tab(std::size_t line) const;

  [[nodiscard]] bool has_marker(std::string_view scalar) const { return scalar.find(marker_) != scalar.npos; }
  struct Filled {
    std::string text;        ///< with the variables' values
    std::string expression;  ///< "${NAME}"; empty when other text stands beside, which may be a part of a secret
  };
  /// Replaces the markers of a scalar; variables that have no value are problems.
  [[nodiscard]] Filled fill(std::string_view scalar, ConfigProblems& problems) const;

 private:
  struct Variable {
    std::string expression;  ///< "${NAME}", without its default
    ConfigPlace place;
    std::string value;
    std::string problem;  ///< why it has no value; told only where it is used
  };
  struct Edit {
    std::size_t line = 0;
    std::size_t marked_column = 0;  ///< where the marked text goes on after the edit
    std::size_t column = 0;         ///< the same in the file
    std::size_t marked_begin = 0;   ///< where the edit begins in the marked text
    std::size_t begin = 0;          ///< the same in the file
  };

  void check_bytes(ConfigProblems& problems) const;
  void mark(const Config::Environment& environment, ConfigProblems& problems);
  std::size_t mark_variable(std::size_t at, const Config::Environment& environment, ConfigProblems& problems);
  void append_edit(std::string_view replacement, std::size_t at, std::size_t length);
  [[nodiscard]] ConfigPlace place_of(std::size_t offset) const;
  /// The variable whose number and end stand at `at`, which moves behind them.
  [[nodiscard]] std::optional<std::size_t> variable_at(std::string_view scalar, std::size_t& at) const;

  std::string text_;
  std::string file_;
  std::string marked_;
  std::string marker_;
  std::vector<std::size_t> lines_;         ///< offsets of line starts in text_
  std::vector<std::size_t> marked_lines_;  ///< the same in marked_
  std::vector<Variable> variables_;
  std::vector<Edit> edits_;
};

}  // namespace millrace
