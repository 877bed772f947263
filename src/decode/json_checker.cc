// SPDX-License-Identifier: Apache-2.0
#include "millrace/decode/json_checker.h"

#include <fmt/format.h>

#include "decode/json_escapes.h"
#include "decode/json_faults.h"
#include "decode/json_keys.h"
#include "decode/json_tokens.h"
#include "decode/json_walk.h"
#include "decode/utf8.h"
#include "millrace/base/utf8.h"

namespace millrace {

struct JsonChecker::State {
  JsonTokens tokens;
  JsonKeys keys;
  JsonFault fault;
  std::string_view document;
};

JsonChecker::JsonChecker() : state_(std::make_unique<State>()) {}
JsonChecker::JsonChecker(JsonChecker&&) noexcept = default;
JsonChecker& JsonChecker::operator=(JsonChecker&&) noexcept = default;
JsonChecker::~JsonChecker() = default;

bool JsonChecker::check_whole(std::string_view document, std::size_t readable_padding) {
  State& state = *state_;
  state.document = document;
  if (!state.tokens.scan(document, readable_padding, state.fault)) return false;
  if (!reject_duplicate_keys_) return walk_document(state.tokens, state.fault);
  if (!walk_document(state.tokens, state.keys, state.fault)) return false;
  if (state.keys.repeated() == JsonKeys::kNone) return true;
  state.fault = {ErrorCode::duplicate_key, state.keys.repeated(), "an object has the key that begins here twice"};
  return false;
}

bool JsonChecker::check(std::string_view document, std::size_t readable_padding, decode::Json& json) {
  if (!check_whole(document, readable_padding)) [[unlikely]]
    return false;
  json = {document, has_line_breaks(document)};
  return true;
}

bool JsonChecker::check_array(std::string_view document, std::size_t readable_padding,
                              std::vector<decode::Json>& elements) {
  if (!check_whole(document, readable_padding)) [[unlikely]]
    return false;
  State& state = *state_;
  const JsonTokens& tokens = state.tokens;
  if (tokens.first_byte(tokens.begin()) != '[') {
    state.fault = {ErrorCode::wrong_type, *tokens.begin(), "expected an array of documents"};
    return false;
  }
  elements.clear();
  const std::uint32_t* token = tokens.begin() + 1;
  while (tokens.first_byte(token) != ']') {
    const std::uint32_t* behind = walk_value(tokens, token, 1, state.fault);
    std::string_view element = document.substr(*token, *behind - *token);
    element.remove_suffix(element.size() - 1 - element.find_last_not_of(" \t\r\n"));
    elements.push_back({element, has_line_breaks(element)});
    token = tokens.first_byte(behind) == ',' ? behind + 1 : behind;
  }
  return true;
}

Error JsonChecker::error() const { return json_error(state_->fault, state_->document); }

bool is_utf8_text(std::string_view bytes) noexcept { return is_utf8(bytes); }

Error not_utf8(std::string_view bytes) {
  return Error::record(ErrorCode::invalid_utf8,
                       fmt::format("not valid UTF-8 at byte {} of {}; `decode: {{raw: {{}}}}` takes any bytes",
                                   first_invalid_utf8(bytes), bytes.size()));
}

}  // namespace millrace
