// SPDX-License-Identifier: Apache-2.0
#include "decode/json_tokens.h"

#include <simdjson.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "decode/json_escapes.h"
#include "millrace/base/check.h"
#include "millrace/base/utf8.h"

namespace millrace {
namespace {

// simdjson counts in 32 bits.
constexpr std::size_t kMaxDocument = 0xFFFF'FF00U - kBytePadding;
constexpr std::size_t kFirstRoom = 16U << 10U;

// The first control character inside a string; for messages.
std::size_t first_control_in_string(std::string_view document) {
  bool inside = false;
  for (std::size_t i = 0; i < document.size(); ++i) {
    if (document[i] == '"') inside = !inside;
    if (!inside) continue;
    if (document[i] == '\\') {
      ++i;
    } else if (static_cast<unsigned char>(document[i]) < 0x20) {
      return i;
    }
  }
  return document.size();
}

// Where the string begins that never ends.
std::size_t unclosed_string(std::string_view document) {
  bool inside = false;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < document.size(); ++i) {
    if (inside && document[i] == '\\') {
      ++i;
    } else if (document[i] == '"') {
      inside = !inside;
      begin = i;
    }
  }
  return begin;
}

}  // namespace

struct JsonTokens::Stage {
  std::unique_ptr<simdjson::internal::dom_parser_implementation> implementation;
  std::size_t room = 0;
};

JsonTokens::JsonTokens() : stage_(std::make_unique<Stage>()) {
  static_assert(simdjson::SIMDJSON_PADDING <= kBytePadding, "windows carry what simdjson reads past a document");
}
JsonTokens::JsonTokens(JsonTokens&&) noexcept = default;
JsonTokens& JsonTokens::operator=(JsonTokens&&) noexcept = default;
JsonTokens::~JsonTokens() = default;

bool JsonTokens::make_room(std::size_t size) {
  if (stage_->implementation && size <= stage_->room) return true;
  const std::size_t room = std::min(kMaxDocument, std::max({size, kFirstRoom, 2 * stage_->room}));
  stage_->room = 0;
  // The second stage, which needs the depth, never runs.
  if (simdjson::get_active_implementation()->create_dom_parser_implementation(room, 1, stage_->implementation) !=
      simdjson::SUCCESS) {
    return false;
  }
  stage_->room = room;
  return true;
}

bool JsonTokens::scan(std::string_view document, std::size_t readable_padding, JsonFault& fault) {
  size_ = document.size();
  data_ = document.data();
  if (size_ > kMaxDocument || !make_room(size_)) [[unlikely]] {
    fault = {ErrorCode::too_large, 0, "the document is larger than a JSON document can be here"};
    return false;
  }
  if (readable_padding < kBytePadding) {
    copy_.clear();
    char* to = copy_.grow(size_ + kBytePadding);
    if (size_ != 0) std::memcpy(to, document.data(), size_);
    std::memset(to + size_, ' ', kBytePadding);
    data_ = to;
  }
  auto& implementation = *stage_->implementation;
  const auto code =
      implementation.stage1(reinterpret_cast<const std::uint8_t*>(data_), size_, simdjson::stage1_mode::regular);
  if (code != simdjson::SUCCESS) [[unlikely]] {
    explain(code, fault);
    return false;
  }
  const EscapeScan escapes = scan_escapes({data_, size_});
  if (escapes.fault != EscapeScan::kNone) [[unlikely]] {
    fault = {ErrorCode::malformed, escapes.fault, "a backslash begins no escape that JSON knows"};
    return false;
  }
  has_escapes_ = escapes.any;
  std::uint32_t* tokens = implementation.structural_indexes.get();
  const std::size_t count = implementation.n_structural_indexes;
  tokens[count] = tokens[count + 1] = static_cast<std::uint32_t>(size_);
  begin_ = tokens;
  end_ = tokens + count;
  return true;
}

void JsonTokens::explain(int simdjson_code, JsonFault& fault) const {
  const std::string_view document(data_, size_);
  // A document may be broken in several ways; bytes that are not UTF-8 are named first, whichever simdjson saw.
  if (const std::size_t at = first_invalid_utf8(document); at != std::string_view::npos) {
    fault = {ErrorCode::invalid_utf8, at, "the bytes here are not UTF-8"};
    return;
  }
  switch (simdjson_code) {
    case simdjson::UNCLOSED_STRING:
      fault = {ErrorCode::malformed, unclosed_string(document), "a string begins here and never ends"};
      return;
    case simdjson::UNESCAPED_CHARS:
      fault = {ErrorCode::malformed, first_control_in_string(document),
               "a control character stands in a string without an escape"};
      return;
    case simdjson::EMPTY:
      fault = {ErrorCode::malformed, 0, "there is no JSON here, only blanks"};
      return;
    default:
      fault = {ErrorCode::malformed, 0, "this is no JSON"};
      return;
  }
}

}  // namespace millrace
