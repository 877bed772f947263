// SPDX-License-Identifier: Apache-2.0
#include "millrace/decode/json_cursor.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "decode/json_escapes.h"
#include "decode/json_faults.h"
#include "decode/json_keys.h"
#include "decode/json_kind.h"
#include "decode/json_numbers.h"
#include "decode/json_tokens.h"
#include "decode/json_walk.h"
#include "decode/same_bytes.h"
#include "millrace/base/printable.h"

namespace millrace {

struct JsonCursor::State {
  JsonTokens tokens;
  JsonKeys keys;
  std::string_view document;
  const std::uint32_t* token = nullptr;
  int depth = 0;
  bool entered = false;  // nothing of the innermost object or array has been read
  UnknownFields unknown = UnknownFields::reject;
  bool reject_duplicates = false;
  ByteBuffer unescaped;    // strings of this document that had escapes
  ByteBuffer key_scratch;  // the present key, if it had some
  std::string_view unknown_key;
  // The fault.
  JsonFault fault;
  std::string words;  // set when the fault is the type's
  std::string path;   // "user.tags[2]"

  [[nodiscard]] char first() const noexcept { return tokens.first_byte(token); }

  [[gnu::cold, gnu::noinline]] bool refuse(ErrorCode code, std::string text) {
    fault = {code, token < tokens.end() ? *token : tokens.size(), ""};
    words = std::move(text);
    return false;
  }
  [[gnu::cold, gnu::noinline]] bool refuse_kind(std::string_view expected) {
    return refuse(ErrorCode::wrong_type, fmt::format("expected {}, found {}", expected, kind_of(first())));
  }
  [[gnu::cold, gnu::noinline]] bool refuse_number(std::string_view expected, std::string_view found) {
    return refuse(ErrorCode::wrong_type, fmt::format("expected {}, found {}", expected, printable(found, 60)));
  }
  // error() finds out what exactly, by walking the whole document.
  [[gnu::cold, gnu::noinline]] bool refuse_document() {
    fault = {ErrorCode::malformed, token < tokens.end() ? *token : tokens.size(), "this is no JSON"};
    words.clear();
    return false;
  }

  // The scalar here is a number; to be called before the cursor moves.
  [[nodiscard]] bool number(std::string_view expected, std::string_view& text) {
    const char c = first();
    if (c != '-' && static_cast<unsigned char>(c - '0') >= 10) [[unlikely]]
      return c == '"' || c == '{' || c == '[' || c == 't' || c == 'f' || c == 'n' ? refuse_kind(expected)
                                                                                  : refuse_document();
    if (!is_json_number(tokens.data() + token[0], tokens.data() + token[1])) [[unlikely]]
      return refuse_document();
    text = tokens.scalar(token);
    return true;
  }

  // What the string token here says; null data when half a surrogate pair is in it.
  [[nodiscard]] std::string_view plain(std::string_view raw, ByteBuffer& room, LoneSurrogates lone) {
    const std::size_t start = room.size();
    char* to = room.grow(raw.size());
    const char* end = unescape(raw, to, lone);
    if (end == nullptr) return {};
    room.truncate(start + static_cast<std::size_t>(end - to));
    return {to, static_cast<std::size_t>(end - to)};
  }
};

JsonCursor::JsonCursor() : state_(std::make_unique<State>()) {}
JsonCursor::JsonCursor(JsonCursor&&) noexcept = default;
JsonCursor& JsonCursor::operator=(JsonCursor&&) noexcept = default;
JsonCursor::~JsonCursor() = default;

void JsonCursor::unknown_fields(UnknownFields policy) noexcept { state_->unknown = policy; }
void JsonCursor::reject_duplicate_keys(bool reject) noexcept { state_->reject_duplicates = reject; }

bool JsonCursor::open(std::string_view document, std::size_t readable_padding) {
  State& state = *state_;
  state.document = document;
  state.words.clear();
  state.path.clear();
  state.unescaped.clear();
  state.depth = 0;
  if (!state.tokens.scan(document, readable_padding, state.fault)) [[unlikely]]
    return false;
  state.token = state.tokens.begin();
  // Views of it are handed out, so it must not move while the document lasts.
  if (state.tokens.has_escapes()) state.unescaped.reserve(document.size());
  if (state.reject_duplicates) {
    if (!walk_document(state.tokens, state.keys, state.fault)) return false;
    if (state.keys.repeated() != JsonKeys::kNone) {
      state.fault = {ErrorCode::duplicate_key, state.keys.repeated(), "an object has the key that begins here twice"};
      return false;
    }
  }
  return true;
}

bool JsonCursor::close() {
  State& state = *state_;
  if (state.token == state.tokens.end()) [[likely]]
    return true;
  return state.refuse_document();
}

bool JsonCursor::read(bool& value) {
  State& state = *state_;
  const char c = state.first();
  if (c != 't' && c != 'f') [[unlikely]]
    return state.refuse_kind("true or false");
  if (!same_text(state.tokens.scalar(state.token), c == 't' ? "true" : "false")) [[unlikely]]
    return state.refuse_document();
  value = c == 't';
  ++state.token;
  return true;
}

bool JsonCursor::read(std::int64_t& value, std::int64_t least, std::int64_t most) {
  State& state = *state_;
  std::string_view text;
  if (!state.number("a whole number", text)) return false;
  std::int64_t read = 0;
  if (to_integer(text, read) != NumberFit::ok || read < least || read > most) [[unlikely]]
    return state.refuse_number(fmt::format("a whole number from {} to {}", least, most), text);
  value = read;
  ++state.token;
  return true;
}

bool JsonCursor::read(std::uint64_t& value, std::uint64_t most) {
  State& state = *state_;
  std::string_view text;
  if (!state.number("a whole number", text)) return false;
  std::uint64_t read = 0;
  if (to_integer(text, read) != NumberFit::ok || read > most) [[unlikely]]
    return state.refuse_number(fmt::format("a whole number from 0 to {}", most), text);
  value = read;
  ++state.token;
  return true;
}

bool JsonCursor::read(double& value) {
  State& state = *state_;
  std::string_view text;
  if (!state.number("a number", text)) return false;
  if (to_double(text, value) != NumberFit::ok) [[unlikely]]
    return state.refuse_number("a number that fits a double", text);
  ++state.token;
  return true;
}

bool JsonCursor::read(float& value) {
  State& state = *state_;
  std::string_view text;
  if (!state.number("a number", text)) return false;
  double wide = 0;
  if (to_double(text, wide) != NumberFit::ok || std::abs(wide) > std::numeric_limits<float>::max()) [[unlikely]]
    return state.refuse_number("a number that fits a float", text);
  value = static_cast<float>(wide);
  ++state.token;
  return true;
}

bool JsonCursor::read(std::string_view& value) {
  State& state = *state_;
  if (state.first() != '"') [[unlikely]]
    return state.refuse_kind("a string");
  value = state.tokens.raw_string(state.token);
  if (state.tokens.has_escapes() && std::memchr(value.data(), '\\', value.size()) != nullptr) {
    value = state.plain(value, state.unescaped, LoneSurrogates::refuse);
    if (value.data() == nullptr) [[unlikely]]
      return state.refuse(ErrorCode::wrong_type, "expected text, found half of a surrogate pair in it");
  }
  ++state.token;
  return true;
}

bool JsonCursor::read(decode::Json& value) {
  State& state = *state_;
  const std::uint32_t* behind = walk_value(state.tokens, state.token, state.depth, state.fault);
  if (behind == nullptr) [[unlikely]]
    return false;
  std::string_view text(state.tokens.data() + *state.token, *behind - *state.token);
  text.remove_suffix(text.size() - 1 - text.find_last_not_of(" \t\r\n"));
  value = {text, has_line_breaks(text)};
  state.token = behind;
  return true;
}

bool JsonCursor::take_null() {
  State& state = *state_;
  if (state.first() != 'n' || state.tokens.scalar(state.token) != "null") return false;
  ++state.token;
  return true;
}

bool JsonCursor::at_object() const noexcept { return state_->token < state_->tokens.end() && state_->first() == '{'; }

bool JsonCursor::enter_object() {
  State& state = *state_;
  if (state.first() != '{') [[unlikely]]
    return state.refuse_kind("an object");
  if (++state.depth > kMaxJsonDepth) return state.refuse_document();
  ++state.token;
  state.entered = true;
  return true;
}

int JsonCursor::next_field(const std::string_view* names, int count, int expected) {
  State& state = *state_;
  const JsonTokens& tokens = state.tokens;
  for (;;) {
    const char c = state.token < tokens.end() ? state.first() : '\0';
    if (c == '}') {
      state.entered = false;
      --state.depth;
      ++state.token;
      return kEnd;
    }
    if (!std::exchange(state.entered, false)) {
      if (c != ',') return state.refuse_document() ? 0 : kFault;
      ++state.token;
    }
    // A key, a colon and the first token of a value.
    const std::uint32_t* token = state.token;
    if (tokens.end() - token < 3 || tokens.first_byte(token) != '"' || tokens.first_byte(token + 1) != ':') [[unlikely]]
      return state.refuse_document() ? 0 : kFault;
    state.token = token + 2;
    if (expected < count) {
      const std::string_view name = names[expected];
      const char* key = tokens.data() + *token + 1;
      if (token[1] - token[0] >= name.size() + 2 && key[name.size()] == '"' &&
          same_bytes(key, name.data(), name.size())) {
        return expected;
      }
    }
    std::string_view key = tokens.raw_string(token);
    if (tokens.has_escapes() && key.find('\\') != std::string_view::npos) {
      state.key_scratch.clear();
      key = state.plain(key, state.key_scratch, LoneSurrogates::keep);
    }
    for (int i = 0; i < count; ++i) {
      if (same_text(names[i], key)) return i;
    }
    if (state.unknown == UnknownFields::tell) {
      state.unknown_key = key;
      return kUnknown;
    }
    if (state.unknown == UnknownFields::reject) {
      state.token = token;
      state.refuse(ErrorCode::unknown_field, "the record's type has no such field");
      state.path = printable(key);
      return kFault;
    }
    const std::uint32_t* behind = walk_value(tokens, state.token, state.depth, state.fault);
    if (behind == nullptr) [[unlikely]]
      return kFault;
    state.token = behind;
  }
}

std::string_view JsonCursor::unknown_key() const noexcept { return state_->unknown_key; }

bool JsonCursor::enter_array() {
  State& state = *state_;
  if (state.first() != '[') [[unlikely]]
    return state.refuse_kind("an array");
  if (++state.depth > kMaxJsonDepth) return state.refuse_document();
  ++state.token;
  state.entered = true;
  return true;
}

int JsonCursor::next_element() {
  State& state = *state_;
  const char c = state.token < state.tokens.end() ? state.first() : '\0';
  if (c == ']') {
    state.entered = false;
    --state.depth;
    ++state.token;
    return kEnd;
  }
  if (!std::exchange(state.entered, false)) {
    if (c != ',') return state.refuse_document() ? 0 : kFault;
    ++state.token;
  }
  if (state.token >= state.tokens.end()) [[unlikely]]
    return state.refuse_document() ? 0 : kFault;
  return 0;
}

bool JsonCursor::refuse_missing(std::string_view name) {
  state_->refuse(ErrorCode::missing_field, "the record has no such field");
  state_->path = name;
  return false;
}

bool JsonCursor::refuse_repeated(std::string_view name) {
  state_->refuse(ErrorCode::duplicate_key, "the record has this field twice");
  state_->path = name;
  return false;
}

void JsonCursor::inside_field(std::string_view name) {
  std::string& path = state_->path;
  path = std::string(name) + (path.empty() || path.front() == '[' ? "" : ".") + path;
}

void JsonCursor::inside_element(std::size_t index) {
  std::string& path = state_->path;
  path = fmt::format("[{}]{}{}", index, path.empty() || path.front() == '[' ? "" : ".", path);
}

Error JsonCursor::error() const {
  const State& state = *state_;
  JsonFault fault = state.fault;
  // A fault found by the scan has left no tokens to walk.
  const bool scanned = !state.words.empty() || fault.code == ErrorCode::malformed;
  if (scanned) {
    JsonTokens tokens;
    if (!tokens.scan(state.document, 0, fault) || !walk_document(tokens, fault)) {
      return json_error(fault, state.document);
    }
  }
  if (state.words.empty()) return json_error(state.fault, state.document);
  const std::string field = state.path.empty() ? std::string("the record") : "field '" + state.path + "'";
  return Error::record(state.fault.code, fmt::format("{} (byte {}): {}", field, state.fault.at, state.words));
}

}  // namespace millrace
