// SPDX-License-Identifier: Apache-2.0
#include "encode/cell_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <utility>

namespace millrace {
namespace {

constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

/// Takes digits from the front of a text, which is as it was when they are not there.
class Digits {
 public:
  explicit Digits(std::string_view text) : text_(text) {}
  /// -1 when there are not so many.
  [[nodiscard]] int take(std::size_t count) noexcept {
    if (text_.size() < count) return -1;
    int number = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (!is_digit(text_[i])) return -1;
      number = number * 10 + (text_[i] - '0');
    }
    text_.remove_prefix(count);
    return number;
  }
  [[nodiscard]] bool take_one_of(std::string_view any) noexcept {
    if (text_.empty() || any.find(text_.front()) == std::string_view::npos) return false;
    text_.remove_prefix(1);
    return true;
  }
  [[nodiscard]] char front() const noexcept { return text_.empty() ? '\0' : text_.front(); }
  [[nodiscard]] bool empty() const noexcept { return text_.empty(); }

 private:
  std::string_view text_;
};

std::optional<std::int32_t> take_date(Digits& digits) noexcept {
  using namespace std::chrono;
  const int y = digits.take(4);
  if (y < 0 || !digits.take_one_of("-")) return std::nullopt;
  const int m = digits.take(2);
  if (m < 0 || !digits.take_one_of("-")) return std::nullopt;
  const int d = digits.take(2);
  if (d < 0) return std::nullopt;
  const year_month_day date{year{y}, month{static_cast<unsigned>(m)}, day{static_cast<unsigned>(d)}};
  if (!date.ok()) return std::nullopt;
  return static_cast<std::int32_t>(sys_days(date).time_since_epoch().count());
}

/// Of a second. -1: finer than microseconds, or no digit.
std::int64_t take_fraction(Digits& digits) noexcept {
  std::int64_t micros = 0;
  int count = 0;
  for (; is_digit(digits.front()); ++count) {
    const int digit = digits.take(1);
    if (count < 6) micros = micros * 10 + digit;
    if (count >= 6 && digit != 0) return -1;
  }
  for (int i = count; i < 6; ++i) micros *= 10;
  return count == 0 ? -1 : micros;
}

/// East of UTC, in minutes.
std::optional<int> take_zone(Digits& digits) noexcept {
  if (digits.take_one_of("Zz")) return 0;
  const bool west = digits.front() == '-';
  if (!digits.take_one_of("+-")) return std::nullopt;
  const int hours = digits.take(2);
  if (hours < 0 || hours > 23 || !digits.take_one_of(":")) return std::nullopt;
  const int minutes = digits.take(2);
  if (minutes < 0 || minutes > 59) return std::nullopt;
  const int all = hours * 60 + minutes;
  return west ? -all : all;
}

__extension__ using Wide = unsigned __int128;

/// Its digits without point and leading zeros, and the power of ten that they are times.
struct Spelled {
  std::array<char, 64> digits{};
  std::size_t count = 0;
  std::int64_t exponent = 0;
  bool negative = false;
};

bool add_digit(Spelled& number, char c) noexcept {
  if (number.count == 0 && c == '0') return true;
  if (number.count == number.digits.size()) {
    // So many are too many, unless zeros are all that follows.
    ++number.exponent;
    return c == '0';
  }
  number.digits[number.count++] = c;
  return true;
}

std::optional<Spelled> spell(std::string_view text) noexcept {
  Spelled number;
  number.negative = text.starts_with('-');
  if (number.negative) text.remove_prefix(1);
  std::size_t at = 0;
  const auto take_digits = [&](int each) {
    const std::size_t begin = at;
    for (; at < text.size() && is_digit(text[at]); ++at) {
      if (!add_digit(number, text[at])) return false;
      number.exponent += each;
    }
    return at != begin;
  };
  if (!take_digits(0)) return std::nullopt;
  if (at > 1 && text.front() == '0') return std::nullopt;  // no number begins so
  if (at < text.size() && text[at] == '.') {
    ++at;
    if (!take_digits(-1)) return std::nullopt;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at + 1 < text.size() && text[at] == '+' && is_digit(text[at + 1])) ++at;
    int exponent = 0;
    const auto [end, fault] = std::from_chars(text.data() + at, text.data() + text.size(), exponent);
    if (fault != std::errc()) return std::nullopt;
    at = static_cast<std::size_t>(end - text.data());
    number.exponent += exponent;
  }
  if (at != text.size()) return std::nullopt;
  return number;
}

constexpr std::array<std::int8_t, 256> kBase64 = [] {
  std::array<std::int8_t, 256> values{};
  values.fill(-1);
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (std::size_t i = 0; i < kDigits.size(); ++i) {
    values[static_cast<unsigned char>(kDigits[i])] = static_cast<std::int8_t>(i);
  }
  return values;
}();

}  // namespace

std::optional<std::int64_t> read_timestamp(std::string_view text) noexcept {
  Digits digits(text);
  const auto day = take_date(digits);
  if (!day || !digits.take_one_of("Tt ")) return std::nullopt;
  const int hour = digits.take(2);
  if (hour < 0 || hour > 23 || !digits.take_one_of(":")) return std::nullopt;
  const int minute = digits.take(2);
  if (minute < 0 || minute > 59 || !digits.take_one_of(":")) return std::nullopt;
  const int second = digits.take(2);
  if (second < 0 || second > 59) return std::nullopt;
  const std::int64_t micros = digits.take_one_of(".") ? take_fraction(digits) : 0;
  if (micros < 0) return std::nullopt;
  const auto east = take_zone(digits);
  if (!east || !digits.empty()) return std::nullopt;
  const std::int64_t seconds = std::int64_t{*day} * 86'400 + hour * 3600 + (minute - *east) * 60 + second;
  return seconds * 1'000'000 + micros;
}

std::optional<std::int32_t> read_date(std::string_view text) noexcept {
  Digits digits(text);
  const auto day = take_date(digits);
  return digits.empty() ? day : std::nullopt;
}

std::optional<Decimal> read_decimal(std::string_view text, int precision, int scale) noexcept {
  auto number = spell(text);
  if (!number) return std::nullopt;
  while (number->count > 0 && number->digits[number->count - 1] == '0') {
    --number->count;
    ++number->exponent;
  }
  Wide whole = 0;
  if (number->count > 0) {
    const std::int64_t zeros = number->exponent + scale;
    if (zeros < 0 || std::cmp_greater(zeros, precision) ||
        std::cmp_greater(zeros + static_cast<std::int64_t>(number->count), precision)) {
      return std::nullopt;
    }
    for (std::size_t i = 0; i < number->count; ++i) whole = whole * 10 + static_cast<unsigned>(number->digits[i] - '0');
    for (std::int64_t i = 0; i < zeros; ++i) whole *= 10;
  }
  if (number->negative) whole = Wide{0} - whole;
  return Decimal{static_cast<std::int64_t>(static_cast<std::uint64_t>(whole >> 64U)),
                 static_cast<std::uint64_t>(whole)};
}

bool append_from_base64(ByteBuffer& out, std::string_view text) {
  if (text.size() % 4 != 0) return false;
  const std::size_t before = out.size();
  for (std::size_t at = 0; at < text.size(); at += 4) {
    const bool last = at + 4 == text.size();
    const int pad = !last || text[at + 3] != '=' ? 0 : text[at + 2] == '=' ? 2 : 1;
    std::uint32_t bits = 0;
    for (int i = 0; i < 4; ++i) {
      const int value = i >= 4 - pad ? 0 : kBase64[static_cast<unsigned char>(text[at + static_cast<std::size_t>(i)])];
      if (value < 0) {
        out.truncate(before);
        return false;
      }
      bits = bits << 6U | static_cast<std::uint32_t>(value);
    }
    // What the padding leaves unused is zero, so that one text stands for given bytes.
    if ((pad == 2 && (bits & 0xFFFFU) != 0) || (pad == 1 && (bits & 0xFFU) != 0)) {
      out.truncate(before);
      return false;
    }
    for (int i = 0; i < 3 - pad; ++i)
      out.push_back(static_cast<char>(bits >> (16U - 8U * static_cast<unsigned>(i)) & 0xFFU));
  }
  return true;
}

}  // namespace millrace
