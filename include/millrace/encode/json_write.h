// SPDX-License-Identifier: Apache-2.0
// write_json: a value of a type as JSON. The customisation point is an overload
// `bool write_json(millrace::JsonWriter&, const T&)` in T's namespace; listed structs (decode/json_fields.h) need none.
// An optional field without a value is left out; elsewhere it is null.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "millrace/decode/json_fields.h"
#include "millrace/decode/json_read.h"
#include "millrace/encode/json_writer.h"

#pragma GCC visibility push(default)
namespace millrace {

[[nodiscard]] inline bool write_json(JsonWriter& writer, bool value) { return writer.write(value); }
[[nodiscard]] inline bool write_json(JsonWriter& writer, double value) { return writer.write(value); }
[[nodiscard]] inline bool write_json(JsonWriter& writer, float value) { return writer.write(value); }
[[nodiscard]] inline bool write_json(JsonWriter& writer, std::string_view value) { return writer.write(value); }
[[nodiscard]] inline bool write_json(JsonWriter& writer, const std::string& value) {
  return writer.write(std::string_view(value));
}
[[nodiscard]] inline bool write_json(JsonWriter& writer, const char* value) {
  return writer.write(std::string_view(value));
}
[[nodiscard]] inline bool write_json(JsonWriter& writer, decode::Text value) { return writer.write(value.view); }
[[nodiscard]] inline bool write_json(JsonWriter& writer, decode::Json value) { return writer.write(value); }

template <IsJsonInteger T>
[[nodiscard]] bool write_json(JsonWriter& writer, T value) {
  if constexpr (std::is_signed_v<T>) {
    return writer.write(static_cast<std::int64_t>(value));
  } else {
    return writer.write(static_cast<std::uint64_t>(value));
  }
}

template <class T>
[[nodiscard]] bool write_json(JsonWriter& writer, const std::optional<T>& value);
template <class T>
[[nodiscard]] bool write_json(JsonWriter& writer, const std::vector<T>& value);
template <HasJsonFields T>
[[nodiscard]] bool write_json(JsonWriter& writer, const T& value);

/// A type that write_json takes.
template <class T>
concept IsJsonWritable = requires(JsonWriter& writer, const T& value) {
  { write_json(writer, value) } -> std::same_as<bool>;
};

namespace detail {

/// `"name":` for each field of T, with the comma before it, made when the program is compiled. Names hold no quote,
/// backslash or control character.
template <HasJsonFields T>
struct JsonKeys {
  static constexpr std::size_t kLength = [] {
    std::size_t length = 0;
    for (const std::string_view name : JsonFields<T>::kNames) length += name.size() + 4;
    return length;
  }();
  static constexpr std::array<char, kLength> kText = [] {
    std::array<char, kLength> text{};
    std::size_t at = 0;
    for (const std::string_view name : JsonFields<T>::kNames) {
      text[at++] = ',';
      text[at++] = '"';
      for (const char c : name) text[at++] = c;
      text[at++] = '"';
      text[at++] = ':';
    }
    return text;
  }();
};

template <class T>
bool write_field(JsonWriter& writer, std::string_view name, const T& value) {
  if (write_json(writer, value)) [[likely]]
    return true;
  writer.inside_field(name);
  return false;
}

}  // namespace detail

template <HasJsonFields T>
bool write_json(JsonWriter& writer, const T& value) {
  return std::apply(
      [&](const auto&... field) {
        bool first = true;
        const char* key = detail::JsonKeys<T>::kText.data();
        const auto write = [&](const auto& one) {
          const std::string_view with_comma(key, one.name.size() + 4);
          key += with_comma.size();
          const auto& member = value.*one.member;
          if constexpr (detail::kIsOptional<std::remove_cvref_t<decltype(member)>>) {
            if (!member.has_value()) return true;
          }
          writer.write_verbatim(first ? with_comma.substr(1) : with_comma);
          first = false;
          return detail::write_field(writer, one.name, member);
        };
        writer.write_verbatim("{");
        if (!(write(field) && ...)) return false;
        writer.write_verbatim("}");
        return true;
      },
      JsonFields<T>::kFields);
}

template <class T>
bool write_json(JsonWriter& writer, const std::optional<T>& value) {
  if (value.has_value()) return write_json(writer, *value);
  writer.write_null();
  return true;
}

template <class T>
bool write_json(JsonWriter& writer, const std::vector<T>& value) {
  writer.write_verbatim("[");
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (i != 0) writer.write_verbatim(",");
    if (!write_json(writer, static_cast<const T&>(value[i]))) [[unlikely]] {
      writer.inside_element(i);
      return false;
    }
  }
  writer.write_verbatim("]");
  return true;
}

}  // namespace millrace
#pragma GCC visibility pop
