// SPDX-License-Identifier: Apache-2.0
#include "testing/pipeline/lent_bytes.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "millrace/base/borrow.h"
#include "millrace/base/bytes.h"

namespace millrace::testing {
namespace {

constexpr std::size_t kKeepPoisoned = 16;
constexpr int kScribble = 0xDD;

}  // namespace

LentBytes::~LentBytes() {
  take_back();
  for (const Block& block : taken_back_) MILLRACE_UNPOISON(block.memory.get(), block.size);
}

const std::vector<std::string_view>& LentBytes::lend(const std::vector<std::string>& payloads) {
  take_back();
  std::size_t size = kBytePadding;
  for (const std::string& payload : payloads) size += payload.size();
  lent_ = {std::make_unique<char[]>(size), size};
  char* at = lent_.memory.get();
  for (const std::string& payload : payloads) {
    std::ranges::copy(payload, at);
    views_.emplace_back(at, payload.size());
    at += payload.size();
  }
  return views_;
}

void LentBytes::take_back() {
  views_.clear();
  if (!lent_.memory) return;
  std::memset(lent_.memory.get(), kScribble, lent_.size);
  MILLRACE_POISON(lent_.memory.get(), lent_.size);
  taken_back_.push_back(std::exchange(lent_, Block()));
  if (taken_back_.size() <= kKeepPoisoned) return;
  MILLRACE_UNPOISON(taken_back_.front().memory.get(), taken_back_.front().size);
  taken_back_.pop_front();
}

}  // namespace millrace::testing
