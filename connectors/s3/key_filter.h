// SPDX-License-Identifier: Apache-2.0
// KeyFilter: which keys of a listing are read: include and exclude globs over the key below the prefix. Part of the
// source's identity. Immutable after make(); thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"

namespace millrace::s3_source {

/// A glob that must match all of a text: `*` any run without '/', `**` any run ('**' and a slash behind it also match
/// nothing), `?` one character but '/', `[a-c]` and `[!a]` one of a set, `\` takes the next literally. Characters are
/// those of UTF-8; a byte that is part of none is one of its own. Matching costs pattern times text at most, whatever
/// the pattern.
class Glob {
 public:
  /// Fails (config) on an open `[`, a range that runs backwards, and a `\` at the end.
  [[nodiscard]] static Result<Glob> parse(std::string_view whole);
  [[nodiscard]] bool matches(std::string_view text) const;

 private:
  struct Token {
    /// `gate` takes nothing: what follows is `run`, '/', and it may be left out.
    enum class Kind { one, any, set, segment_run, run, gate } kind = Kind::one;
    char32_t character = 0;
    bool negated = false;
    std::u32string members;  // of a set: pairs (first, last)
    [[nodiscard]] bool takes(char32_t c) const;
  };
  static Result<std::size_t> parse_set(std::string_view whole, std::u32string_view pattern, std::size_t at,
                                       Token& token);
  void add_run(std::u32string_view pattern, std::size_t& at);
  void spread(std::vector<char>& places) const;
  std::vector<Token> tokens_;
};

class KeyFilter {
 public:
  KeyFilter() = default;
  /// Fails (config) naming the pattern that is malformed.
  [[nodiscard]] static Result<KeyFilter> make(const std::vector<std::string>& include,
                                              const std::vector<std::string>& exclude);
  /// True when `key_below_prefix` matches an include (or there is none) and no exclude.
  [[nodiscard]] bool accepts(std::string_view key_below_prefix) const;

 private:
  std::vector<Glob> include_;
  std::vector<Glob> exclude_;
};

}  // namespace millrace::s3_source
