// SPDX-License-Identifier: Apache-2.0
#include "decode/json_walk.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "decode/json_numbers.h"

namespace millrace {
namespace {

// Which of the open containers are objects, one bit each.
class ContainerKinds {
 public:
  void push(int depth, bool object) noexcept {
    const std::uint64_t bit = std::uint64_t{1} << (static_cast<unsigned>(depth) & 63U);
    std::uint64_t& word = words_[static_cast<unsigned>(depth) / 64];
    word = object ? word | bit : word & ~bit;
  }
  [[nodiscard]] bool is_object(int depth) const noexcept {
    return (words_[static_cast<unsigned>(depth) / 64] >> (static_cast<unsigned>(depth) & 63U) & 1U) != 0;
  }

 private:
  std::array<std::uint64_t, kMaxJsonDepth / 64 + 1> words_;  // read only where written
};

struct NoKeys {
  static void open_object() noexcept {}
  static void add(std::string_view, std::size_t, bool) noexcept {}
  static void close_object() noexcept {}
};

class Walker {
 public:
  Walker(const JsonTokens& tokens, JsonFault& fault) : tokens_(tokens), data_(tokens.data()), fault_(fault) {}

  template <class Keys>
  const std::uint32_t* value(const std::uint32_t* token, const int base, Keys& keys);

 private:
  [[gnu::cold, gnu::noinline]] const std::uint32_t* refuse(const std::uint32_t* token, const char* what) {
    fault_ = {ErrorCode::malformed, *token, what};
    if (token >= tokens_.end()) fault_.what = "the document ends before the value is whole";
    return nullptr;
  }
  [[gnu::cold, gnu::noinline]] const std::uint32_t* refuse_key(const std::uint32_t* token) {
    if (token < tokens_.end() && data_[*token] != '"') return refuse(token, "expected a key in double quotes");
    return refuse(token + 1 < tokens_.end() ? token + 1 : tokens_.end(), "expected ':' behind the key");
  }
  [[gnu::cold, gnu::noinline]] const std::uint32_t* refuse_depth(const std::uint32_t* token) {
    fault_ = {ErrorCode::limit, *token, "objects and arrays lie more than 1,024 deep in each other"};
    return nullptr;
  }
  // true, false, null, numbers; and everything that is no value.
  [[nodiscard]] bool scalar(const std::uint32_t* token) const noexcept {
    const char* at = data_ + *token;
    const char* end = data_ + token[1];
    switch (*at) {
      case 't':
        return word(at, end, "true");
      case 'f':
        return word(at, end, "false");
      case 'n':
        return word(at, end, "null");
      default:
        return is_json_number(at, end);
    }
  }
  template <std::size_t kSize>
  [[nodiscard]] static bool word(const char* at, const char* end, const char (&text)[kSize]) noexcept {
    constexpr std::size_t kLength = kSize - 1;
    if (static_cast<std::size_t>(end - at) < kLength || std::memcmp(at, text, kLength) != 0) return false;
    for (at += kLength; at != end; ++at) {
      if (*at != ' ' && *at != '\t' && *at != '\n' && *at != '\r') return false;
    }
    return true;
  }

  const JsonTokens& tokens_;
  const char* const data_;
  JsonFault& fault_;
  ContainerKinds kinds_;
};

// The grammar as jumps: a token is looked at once, and what may follow is where the code goes next.
template <class Keys>
const std::uint32_t* Walker::value(const std::uint32_t* token, const int base, Keys& keys) {
  const std::uint32_t* const end = tokens_.end();
  int depth = base;
  char first = 0;
  if (token == end) return refuse(token, "");
  goto value;

key:
  // A key, a colon and the first token of a value.
  if (end - token < 3 || data_[token[0]] != '"' || data_[token[1]] != ':') [[unlikely]]
    return refuse_key(token);
  if constexpr (!std::is_same_v<Keys, NoKeys>) {
    keys.add(tokens_.raw_string(token), *token, tokens_.has_escapes());
  }
  token += 2;

value:
  first = data_[*token];
  if (first == '"') {
    ++token;
  } else if (first == '{') {
    if (depth == kMaxJsonDepth) [[unlikely]]
      return refuse_depth(token);
    kinds_.push(++depth, true);
    keys.open_object();
    if (++token == end) [[unlikely]]
      return refuse(token, "");
    if (data_[*token] != '}') goto key;
    ++token;
    --depth;
    keys.close_object();
  } else if (first == '[') {
    if (depth == kMaxJsonDepth) [[unlikely]]
      return refuse_depth(token);
    kinds_.push(++depth, false);
    if (++token == end) [[unlikely]]
      return refuse(token, "");
    if (data_[*token] != ']') goto value;
    ++token;
    --depth;
  } else {
    if (!scalar(token)) [[unlikely]]
      return refuse(token, "expected a value");
    ++token;
  }

behind_value:
  if (depth == base) return token;
  if (token == end) [[unlikely]]
    return refuse(token, "");
  first = data_[*token];
  if (kinds_.is_object(depth)) {
    if (first == ',') {
      ++token;
      goto key;
    }
    if (first != '}') [[unlikely]]
      return refuse(token, "expected ',' or '}' behind the value");
    keys.close_object();
  } else {
    if (first == ',') {
      if (++token == end) [[unlikely]]
        return refuse(token, "");
      goto value;
    }
    if (first != ']') [[unlikely]]
      return refuse(token, "expected ',' or ']' behind the value");
  }
  ++token;
  --depth;
  goto behind_value;
}

template <class Keys>
bool document(const JsonTokens& tokens, Keys& keys, JsonFault& fault) {
  const std::uint32_t* behind = Walker(tokens, fault).value(tokens.begin(), 0, keys);
  if (behind == nullptr) return false;
  if (behind == tokens.end()) [[likely]]
    return true;
  fault = {ErrorCode::malformed, *behind, "something follows the end of the document"};
  return false;
}

}  // namespace

const std::uint32_t* walk_value(const JsonTokens& tokens, const std::uint32_t* token, int depth, JsonFault& fault) {
  NoKeys keys;
  return Walker(tokens, fault).value(token, depth, keys);
}

bool walk_document(const JsonTokens& tokens, JsonFault& fault) {
  NoKeys keys;
  return document(tokens, keys, fault);
}

bool walk_document(const JsonTokens& tokens, JsonKeys& keys, JsonFault& fault) {
  keys.begin(tokens.size());
  return document(tokens, keys, fault);
}

}  // namespace millrace
