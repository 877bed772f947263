// SPDX-License-Identifier: Apache-2.0
// ChainPart: decoders, operators and encoders as values, put in a row with `|`. A row is a plan: it holds the user's
// callables and options and does nothing until it is compiled (pipeline/compile.h), once per lane.
//
// What a part owes the compiler: `template <class Binder, class Next> auto bind(Binder&, std::string at, Next) &&`
// makes its stage, whose `template <class T> bool push(const T&, const RecordMeta&)` takes one record; the last part
// of a row binds without Next. `at` is its place in words. push returns false when the run must stop here (RecordFlow
// knows why). `may_multiply()` says whether one record in may become several out.
#pragma once

#include <concepts>
#include <tuple>
#include <type_traits>
#include <utility>

#pragma GCC visibility push(default)
namespace millrace {

/// Base of everything that can stand in a chain; makes `|` findable from every stage's namespace.
struct ChainPart {};

template <class T>
concept IsChainPart = std::derived_from<std::remove_cvref_t<T>, ChainPart>;

/// Parts in a row. Move it into compile(); a copy copies the callables.
template <class... Parts>
struct PartRow : ChainPart {
  std::tuple<Parts...> parts;
  /// Whether one record in may become several out.
  [[nodiscard]] bool may_multiply() const noexcept {
    return std::apply([](const auto&... part) { return (part.may_multiply() || ...); }, parts);
  }
};

namespace detail {

template <class T>
struct IsPartRow : std::false_type {};
template <class... Parts>
struct IsPartRow<PartRow<Parts...>> : std::true_type {};

template <class T>
auto as_tuple(T&& part) {
  if constexpr (IsPartRow<std::remove_cvref_t<T>>::value) {
    return std::forward<T>(part).parts;
  } else {
    return std::tuple<std::remove_cvref_t<T>>(std::forward<T>(part));
  }
}

template <class... Parts>
PartRow<Parts...> make_row(std::tuple<Parts...> parts) {
  return {{}, std::move(parts)};
}

}  // namespace detail

/// One part as a row of one; a row as it is.
template <IsChainPart T>
auto as_row(T&& part) {
  return detail::make_row(detail::as_tuple(std::forward<T>(part)));
}

/// Puts two parts, or two rows, in a row.
template <IsChainPart A, IsChainPart B>
auto operator|(A&& first, B&& second) {
  return detail::make_row(
      std::tuple_cat(detail::as_tuple(std::forward<A>(first)), detail::as_tuple(std::forward<B>(second))));
}

}  // namespace millrace
#pragma GCC visibility pop
