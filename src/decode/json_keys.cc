// SPDX-License-Identifier: Apache-2.0
#include "decode/json_keys.h"

#include <xxhash.h>

#include <algorithm>
#include <tuple>

#include "decode/json_escapes.h"

namespace millrace {

void JsonKeys::begin(std::size_t size) {
  keys_.clear();
  opened_.clear();
  // Keys point into it, so it must not move while the document lasts.
  unescaped_.clear();
  unescaped_.reserve(size);
  repeated_ = kNone;
}

void JsonKeys::add(std::string_view raw, std::size_t at, bool may_have_escapes) {
  std::string_view text = raw;
  if (may_have_escapes && raw.find('\\') != std::string_view::npos) {
    const std::size_t start = unescaped_.size();
    char* to = unescaped_.grow(raw.size());
    const char* end = unescape(raw, to, LoneSurrogates::keep);
    unescaped_.truncate(start + static_cast<std::size_t>(end - to));
    text = {to, static_cast<std::size_t>(end - to)};
  }
  keys_.push_back({XXH3_64bits(text.data(), text.size()), text, at});
}

void JsonKeys::close_object() {
  const std::size_t first = opened_.back();
  opened_.pop_back();
  if (repeated_ == kNone && keys_.size() - first > 1) search(first);
  keys_.erase(keys_.begin() + static_cast<std::ptrdiff_t>(first), keys_.end());
}

void JsonKeys::search(std::size_t first) {
  const auto begin = keys_.begin() + static_cast<std::ptrdiff_t>(first);
  // Sorted, so that an object of a million keys costs no more than sorting them, whatever they are.
  std::sort(begin, keys_.end(), [](const Key& one, const Key& other) {
    return std::tie(one.hash, one.text, one.at) < std::tie(other.hash, other.text, other.at);
  });
  for (auto key = begin + 1; key < keys_.end(); ++key) {
    if (key->hash == key[-1].hash && key->text == key[-1].text) repeated_ = std::min(repeated_, key->at);
  }
}

}  // namespace millrace
