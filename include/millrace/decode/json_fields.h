// SPDX-License-Identifier: Apache-2.0
// How a struct is told to be a record of JSON: its fields are listed once, for reading (json_read.h) and writing
// (encode/json_write.h).
//
//   struct Order {
//     std::uint64_t id;
//     std::string_view customer;        // borrows the payload until the record is encoded
//     std::optional<double> discount;   // may be absent or null
//     std::vector<Item> items;          // Item is listed in the same way
//   };
//   MILLRACE_JSON_FIELDS(Order, id, customer, discount, items)
//
// Members: bool, integers (range-checked), float, double, std::string, std::string_view, decode::Json (any value, as it
// came), listed structs, std::optional and std::vector of these. A field that is not optional must be there.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>

#pragma GCC visibility push(default)
namespace millrace {

/// One field: its key in JSON and the member it goes to.
template <class Class, class Member>
struct JsonField {
  using Value = Member;
  std::string_view name;
  Member Class::* member;
};

/// For structs whose keys are not spelled like their members; written by hand where the macro does not fit:
///   constexpr auto millrace_json_fields(const Order*) {
///     return std::tuple(json_field("order-id", &Order::id), json_field("customer", &Order::customer));
///   }
template <class Class, class Member>
consteval JsonField<Class, Member> json_field(std::string_view name, Member Class::* member) {
  for (const char c : name) {
    if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20)
      throw "a key holds no quote, backslash or control character";
  }
  return {name, member};
}

/// A type whose fields are listed.
template <class T>
concept HasJsonFields = std::is_class_v<T> && requires(const T* type) { millrace_json_fields(type); };

/// What is known of a listed type when it is compiled.
template <HasJsonFields T>
struct JsonFields {
  static constexpr auto kFields = millrace_json_fields(static_cast<const T*>(nullptr));
  static constexpr std::size_t kCount = std::tuple_size_v<decltype(kFields)>;
  static_assert(kCount >= 1 && kCount <= 64, "a record of JSON has 1 to 64 listed fields; nest structs for more");
  static constexpr std::array<std::string_view, kCount> kNames =
      std::apply([](const auto&... field) { return std::array<std::string_view, kCount>{field.name...}; }, kFields);
};

}  // namespace millrace
#pragma GCC visibility pop

#define MILLRACE_JSON_PARENTHESES ()
#define MILLRACE_JSON_EXPAND(...) MILLRACE_JSON_EXPAND4(MILLRACE_JSON_EXPAND4(MILLRACE_JSON_EXPAND4(__VA_ARGS__)))
#define MILLRACE_JSON_EXPAND4(...) MILLRACE_JSON_EXPAND3(MILLRACE_JSON_EXPAND3(MILLRACE_JSON_EXPAND3(__VA_ARGS__)))
#define MILLRACE_JSON_EXPAND3(...) MILLRACE_JSON_EXPAND2(MILLRACE_JSON_EXPAND2(MILLRACE_JSON_EXPAND2(__VA_ARGS__)))
#define MILLRACE_JSON_EXPAND2(...) MILLRACE_JSON_EXPAND1(MILLRACE_JSON_EXPAND1(MILLRACE_JSON_EXPAND1(__VA_ARGS__)))
#define MILLRACE_JSON_EXPAND1(...) __VA_ARGS__
#define MILLRACE_JSON_EACH_AGAIN() MILLRACE_JSON_EACH
#define MILLRACE_JSON_EACH(Type, field, ...)   \
  ::millrace::json_field(#field, &Type::field) \
      __VA_OPT__(, MILLRACE_JSON_EACH_AGAIN MILLRACE_JSON_PARENTHESES(Type, __VA_ARGS__))

/// Lists the fields of `Type`, up to 64 of them. Beside the type, in its namespace.
#define MILLRACE_JSON_FIELDS(Type, ...)                                                 \
  [[maybe_unused]] constexpr auto millrace_json_fields(const Type* /*type*/) noexcept { \
    return ::std::tuple(MILLRACE_JSON_EXPAND(MILLRACE_JSON_EACH(Type, __VA_ARGS__)));   \
  }                                                                                     \
  static_assert(true, "takes the semicolon")
