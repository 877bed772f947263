// SPDX-License-Identifier: Apache-2.0
#include "ops/transforms/number_order.h"

#include <cstddef>
#include <cstdint>

namespace millrace::transforms {
namespace {

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

std::int64_t exponent_of(std::string_view text) noexcept {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  while (text.size() > 1 && text.front() == '0') text.remove_prefix(1);
  constexpr std::int64_t kFar = 1'000'000'000'000'000'000;
  std::int64_t value = 0;
  if (text.size() > 17) {
    value = kFar;
  } else {
    for (const char c : text) value = value * 10 + (c - '0');
  }
  return negative ? -value : value;
}

/// 0.d1d2d3... x 10^magnitude, d1 not 0.
struct Decimal {
  explicit Decimal(std::string_view text) noexcept {
    negative = text.starts_with('-');
    if (negative) text.remove_prefix(1);
    const std::size_t mark = text.find_first_of("eE");
    digits = text.substr(0, mark);
    bool behind_point = false;
    while (!digits.empty() && (digits.front() == '0' || digits.front() == '.')) {
      if (digits.front() == '.') {
        behind_point = true;
      } else if (behind_point) {
        --magnitude;
      }
      digits.remove_prefix(1);
    }
    if (!behind_point) {
      for (const char c : digits) {
        if (!is_digit(c)) break;
        ++magnitude;
      }
    }
    // Zeros at the end are told by the magnitude where they stand before the point, and mean nothing behind it.
    while (!digits.empty() && (digits.back() == '0' || digits.back() == '.')) digits.remove_suffix(1);
    if (mark != std::string_view::npos) magnitude += exponent_of(text.substr(mark + 1));
  }
  [[nodiscard]] bool is_zero() const noexcept { return digits.empty(); }

  bool negative = false;
  std::string_view digits;  ///< a point may stand among them, and means nothing
  std::int64_t magnitude = 0;
};

std::strong_ordering compare_sizes(const Decimal& a, const Decimal& b) noexcept {
  if (a.magnitude != b.magnitude) return a.magnitude <=> b.magnitude;
  std::size_t i = 0;
  std::size_t j = 0;
  while (true) {
    if (i < a.digits.size() && a.digits[i] == '.') ++i;
    if (j < b.digits.size() && b.digits[j] == '.') ++j;
    const bool a_ends = i >= a.digits.size();
    const bool b_ends = j >= b.digits.size();
    // Neither ends with a zero, so the longer one is the larger.
    if (a_ends || b_ends) return b_ends <=> a_ends;
    if (a.digits[i] != b.digits[j]) return a.digits[i] <=> b.digits[j];
    ++i;
    ++j;
  }
}

}  // namespace

std::strong_ordering compare_numbers(std::string_view a, std::string_view b) noexcept {
  const Decimal one(a);
  const Decimal other(b);
  if (one.is_zero() || other.is_zero()) {
    const int left = one.is_zero() ? 0 : one.negative ? -1 : 1;
    const int right = other.is_zero() ? 0 : other.negative ? -1 : 1;
    return left <=> right;
  }
  if (one.negative != other.negative) return other.negative <=> one.negative;
  return one.negative ? compare_sizes(other, one) : compare_sizes(one, other);
}

}  // namespace millrace::transforms
