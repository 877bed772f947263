// SPDX-License-Identifier: Apache-2.0
// Terminal: the one owner of stderr while a run goes on: log lines above, one redrawn block below. Thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/sync.h"

namespace millrace::cli {

class Terminal {
 public:
  /// Looks at the descriptor and at TERM, NO_COLOR, COLUMNS.
  explicit Terminal(int descriptor);
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  /// True when a block can be redrawn.
  [[nodiscard]] bool can_redraw() const noexcept { return can_redraw_; }
  [[nodiscard]] bool has_colours() const noexcept { return has_colours_; }
  [[nodiscard]] std::size_t width() const;

  /// Writes text that ends with a newline above the block.
  void write(std::string_view text);
  /// Draws these lines in place of the block before. Lines longer than the terminal is wide are cut.
  void draw(std::vector<std::string> lines);
  /// Takes the block away.
  void clear() { draw({}); }

 private:
  void write_all(std::string_view text) MILLRACE_REQUIRES(mutex_);
  [[nodiscard]] std::string erased() const MILLRACE_REQUIRES(mutex_);
  [[nodiscard]] std::string drawn() const MILLRACE_REQUIRES(mutex_);

  const int descriptor_;
  bool can_redraw_ = false;
  bool has_colours_ = false;
  Mutex mutex_;
  std::vector<std::string> block_ MILLRACE_GUARDED_BY(mutex_);
};

/// Text of an error for stderr: line breaks stay, other control characters are shown as escapes.
[[nodiscard]] std::string harmless(std::string_view text);

}  // namespace millrace::cli
