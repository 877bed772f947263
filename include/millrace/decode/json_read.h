// SPDX-License-Identifier: Apache-2.0
// read_json: one value of a type from where a JsonCursor stands. The customisation point is an overload
// `bool read_json(millrace::JsonCursor&, T&)` in T's namespace; listed structs (json_fields.h) need none. A value that
// is read again keeps the memory of its strings and vectors, so records cost no allocation.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/decode/json_cursor.h"
#include "millrace/decode/json_fields.h"
#include "millrace/decode/payload.h"

#pragma GCC visibility push(default)
namespace millrace {

template <class T>
concept IsJsonInteger =
    std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char> && !std::same_as<T, wchar_t> &&
    !std::same_as<T, char8_t> && !std::same_as<T, char16_t> && !std::same_as<T, char32_t>;

[[nodiscard]] inline bool read_json(JsonCursor& cursor, bool& value) { return cursor.read(value); }
[[nodiscard]] inline bool read_json(JsonCursor& cursor, double& value) { return cursor.read(value); }
[[nodiscard]] inline bool read_json(JsonCursor& cursor, float& value) { return cursor.read(value); }
[[nodiscard]] inline bool read_json(JsonCursor& cursor, std::string_view& value) { return cursor.read(value); }
[[nodiscard]] inline bool read_json(JsonCursor& cursor, decode::Json& value) { return cursor.read(value); }

[[nodiscard]] inline bool read_json(JsonCursor& cursor, std::string& value) {
  std::string_view text;
  if (!cursor.read(text)) return false;
  value.assign(text);
  return true;
}

template <IsJsonInteger T>
[[nodiscard]] bool read_json(JsonCursor& cursor, T& value) {
  if constexpr (std::is_signed_v<T>) {
    std::int64_t wide = 0;
    if (!cursor.read(wide, std::numeric_limits<T>::min(), std::numeric_limits<T>::max())) return false;
    value = static_cast<T>(wide);
  } else {
    std::uint64_t wide = 0;
    if (!cursor.read(wide, std::numeric_limits<T>::max())) return false;
    value = static_cast<T>(wide);
  }
  return true;
}

template <class T>
[[nodiscard]] bool read_json(JsonCursor& cursor, std::optional<T>& value);
template <class T>
[[nodiscard]] bool read_json(JsonCursor& cursor, std::vector<T>& value);
template <HasJsonFields T>
[[nodiscard]] bool read_json(JsonCursor& cursor, T& value);

namespace detail {

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

template <class T, std::size_t kIndex>
bool read_json_field(JsonCursor& cursor, T& value) {
  return read_json(cursor, value.*(std::get<kIndex>(JsonFields<T>::kFields).member));
}

/// Readers by field, so that a field costs the same whichever it is.
template <class T>
inline constexpr auto kJsonReaders = []<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
  return std::array<bool (*)(JsonCursor&, T&), sizeof...(kIndex)>{&read_json_field<T, kIndex>...};
}(std::make_index_sequence<JsonFields<T>::kCount>());

/// What a record lacks: optional fields are emptied, any other refuses it.
template <class T>
bool settle_absent(JsonCursor& cursor, T& value, std::uint64_t seen) {
  return std::apply(
      [&](const auto&... field) {
        std::uint64_t bit = 1;
        const auto settle = [&](const auto& one) {
          const bool absent = (seen & std::exchange(bit, bit << 1U)) == 0;
          if (!absent) return true;
          if constexpr (kIsOptional<typename std::remove_cvref_t<decltype(one)>::Value>) {
            (value.*one.member).reset();
            return true;
          } else {
            return cursor.refuse_missing(one.name);
          }
        };
        return (settle(field) && ...);
      },
      JsonFields<T>::kFields);
}

}  // namespace detail

template <HasJsonFields T>
bool read_json(JsonCursor& cursor, T& value) {
  using Fields = JsonFields<T>;
  constexpr int kCount = static_cast<int>(Fields::kCount);
  constexpr std::uint64_t kAll = ~std::uint64_t{0} >> (64 - Fields::kCount);
  if (!cursor.enter_object()) return false;
  std::uint64_t seen = 0;
  for (int expected = 0;;) {
    const int field = cursor.next_field(Fields::kNames.data(), kCount, expected);
    if (field < 0) {
      if (field == JsonCursor::kFault) return false;
      return seen == kAll || detail::settle_absent(cursor, value, seen);
    }
    const auto index = static_cast<std::size_t>(field);
    const std::uint64_t bit = std::uint64_t{1} << index;
    if ((seen & bit) != 0) return cursor.refuse_repeated(Fields::kNames[index]);
    seen |= bit;
    if (!detail::kJsonReaders<T>[index](cursor, value)) [[unlikely]] {
      cursor.inside_field(Fields::kNames[index]);
      return false;
    }
    expected = field + 1;
  }
}

template <class T>
bool read_json(JsonCursor& cursor, std::optional<T>& value) {
  if (cursor.take_null()) {
    value.reset();
    return true;
  }
  if (!value.has_value()) value.emplace();
  return read_json(cursor, *value);
}

template <class T>
bool read_json(JsonCursor& cursor, std::vector<T>& value) {
  if (!cursor.enter_array()) return false;
  std::size_t count = 0;
  for (;; ++count) {
    const int step = cursor.next_element();
    if (step == JsonCursor::kFault) return false;
    if (step == JsonCursor::kEnd) break;
    if constexpr (std::same_as<T, bool>) {
      bool element = false;
      if (!read_json(cursor, element)) [[unlikely]] {
        cursor.inside_element(count);
        return false;
      }
      if (count == value.size()) value.push_back(element);
      value[count] = element;
    } else {
      if (count == value.size()) value.emplace_back();
      if (!read_json(cursor, value[count])) [[unlikely]] {
        cursor.inside_element(count);
        return false;
      }
    }
  }
  value.resize(count);
  return true;
}

}  // namespace millrace
#pragma GCC visibility pop
