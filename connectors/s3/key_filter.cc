// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/key_filter.h"

#include <fmt/format.h>

#include <algorithm>

#include "millrace/base/printable.h"
#include "millrace/base/utf8.h"

namespace millrace::s3_source {
namespace {

Error malformed(std::string_view pattern, std::string_view why) {
  return Error::config(fmt::format("the pattern '{}' {}", printable(pattern), why));
}

/// The code point of UTF-8 at `at`, which moves behind it. A byte that begins none is one by itself, apart from all
/// code points.
char32_t next_character(std::string_view text, std::size_t& at) {
  constexpr char32_t kBytes = 0x110000;
  const auto lead = static_cast<unsigned char>(text[at]);
  const std::size_t size = code_point_size(text.substr(at));
  if (size == 0) {
    ++at;
    return kBytes + lead;
  }
  char32_t character = size == 1 ? lead : lead & (0xFFU >> (size + 1));
  for (const char c : text.substr(at + 1, size - 1)) {
    character = (character << 6U) | (static_cast<unsigned char>(c) & 0x3FU);
  }
  at += size;
  return character;
}

std::u32string characters_of(std::string_view text) {
  std::u32string characters;
  for (std::size_t at = 0; at < text.size();) characters += next_character(text, at);
  return characters;
}

Result<std::vector<Glob>> parse_all(const std::vector<std::string>& patterns) {
  std::vector<Glob> globs;
  for (const std::string& pattern : patterns) {
    MILLRACE_ASSIGN(Glob glob, Glob::parse(pattern));
    globs.push_back(std::move(glob));
  }
  return globs;
}

bool any_matches(const std::vector<Glob>& globs, std::string_view text) {
  return std::ranges::any_of(globs, [&](const Glob& glob) { return glob.matches(text); });
}

}  // namespace

bool Glob::Token::takes(char32_t c) const {
  switch (kind) {
    case Kind::one:
      return c == character;
    case Kind::any:
      return c != '/';
    case Kind::set: {
      if (c == '/') return false;
      for (std::size_t i = 0; i + 1 < members.size(); i += 2) {
        if (members[i] <= c && c <= members[i + 1]) return !negated;
      }
      return negated;
    }
    case Kind::segment_run:
      return c != '/';
    case Kind::run:
      return true;
    case Kind::gate:
      return false;
  }
  return false;
}

/// Reads the set that begins behind `[` at `at`; returns where it ends.
Result<std::size_t> Glob::parse_set(std::string_view whole, std::u32string_view pattern, std::size_t at, Token& token) {
  token.kind = Token::Kind::set;
  if (at < pattern.size() && (pattern[at] == '!' || pattern[at] == '^')) {
    token.negated = true;
    ++at;
  }
  const std::size_t begin = at;
  // A ] in first place is a member.
  for (; at < pattern.size() && (pattern[at] != ']' || at == begin); ++at) {
    char32_t first = pattern[at];
    if (first == '\\' && at + 1 < pattern.size()) first = pattern[++at];
    char32_t last = first;
    if (at + 2 < pattern.size() && pattern[at + 1] == '-' && pattern[at + 2] != ']') {
      last = pattern[at + 2];
      at += 2;
    }
    if (last < first) return fail(malformed(whole, "has a range that runs backwards, which no character is in"));
    token.members += first;
    token.members += last;
  }
  if (at >= pattern.size()) return fail(malformed(whole, "has a [ without a ]; write \\[ for the character"));
  return at + 1;
}

/// Adds what a `*` stands for; `at` is behind it.
void Glob::add_run(std::u32string_view pattern, std::size_t& at) {
  Token token;
  token.kind = Token::Kind::segment_run;
  if (at == pattern.size() || pattern[at] != '*') {
    tokens_.push_back(token);
    return;
  }
  ++at;
  token.kind = Token::Kind::run;
  const bool whole_segments = (at == 2 || pattern[at - 3] == '/') && at < pattern.size() && pattern[at] == '/';
  if (whole_segments) {
    Token gate;
    gate.kind = Token::Kind::gate;
    tokens_.push_back(gate);
  }
  tokens_.push_back(token);
}

Result<Glob> Glob::parse(std::string_view whole) {
  Glob glob;
  const std::u32string characters = characters_of(whole);
  const std::u32string_view pattern = characters;
  for (std::size_t at = 0; at < pattern.size();) {
    Token token;
    const char32_t c = pattern[at++];
    if (c == '*') {
      glob.add_run(pattern, at);
      continue;
    }
    if (c == '?') {
      token.kind = Token::Kind::any;
    } else if (c == '[') {
      MILLRACE_ASSIGN(at, parse_set(whole, pattern, at, token));
    } else if (c == '\\') {
      if (at == pattern.size()) return fail(malformed(whole, "ends in a \\; write \\\\ for the character"));
      token.character = pattern[at++];
    } else {
      token.character = c;
    }
    glob.tokens_.push_back(std::move(token));
  }
  return glob;
}

/// Runs may take nothing, and a gate's two tokens may be left out: whoever stands before stands behind as well.
void Glob::spread(std::vector<char>& places) const {
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    if (places[i] == 0) continue;
    if (tokens_[i].kind == Token::Kind::segment_run || tokens_[i].kind == Token::Kind::run) places[i + 1] = 1;
    if (tokens_[i].kind == Token::Kind::gate) places[i + 1] = places[i + 3] = 1;
  }
}

// A set of places in the pattern, moved on character by character: no backtracking, hence no pattern that takes for
// ever.
bool Glob::matches(std::string_view text) const {
  const std::size_t end = tokens_.size();
  std::vector<char> now(end + 1, 0);
  std::vector<char> next(end + 1, 0);
  now[0] = 1;
  spread(now);
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = next_character(text, at);
    std::ranges::fill(next, 0);
    for (std::size_t i = 0; i < end; ++i) {
      if (now[i] == 0 || !tokens_[i].takes(c)) continue;
      const bool run = tokens_[i].kind == Token::Kind::segment_run || tokens_[i].kind == Token::Kind::run;
      next[run ? i : i + 1] = 1;
    }
    spread(next);
    now.swap(next);
  }
  return now[end] != 0;
}

Result<KeyFilter> KeyFilter::make(const std::vector<std::string>& include, const std::vector<std::string>& exclude) {
  KeyFilter filter;
  MILLRACE_ASSIGN(filter.include_, parse_all(include));
  MILLRACE_ASSIGN(filter.exclude_, parse_all(exclude));
  return filter;
}

bool KeyFilter::accepts(std::string_view key_below_prefix) const {
  return (include_.empty() || any_matches(include_, key_below_prefix)) && !any_matches(exclude_, key_below_prefix);
}

}  // namespace millrace::s3_source
