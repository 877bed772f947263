// SPDX-License-Identifier: Apache-2.0
// Regex: RE2 behind a seam, so that its headers stay in one file. A match takes time linear in the text, whatever the
// expression. One per lane, so that its locks are never waited for.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "millrace/base/result.h"

namespace millrace::transforms {

class Regex {
 public:
  /// Bytes that one holds at most.
  static constexpr std::size_t kMemory = std::size_t{1} << 20U;

  /// Fails (config), also where this build has no RE2.
  [[nodiscard]] static Result<Regex> make(std::string_view expression);
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;
  ~Regex();

  /// Whether it is met anywhere in `text`, which is UTF-8.
  [[nodiscard]] bool met_in(std::string_view text) const;

 private:
  struct Compiled;
  explicit Regex(std::unique_ptr<Compiled> compiled);
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace millrace::transforms
