// SPDX-License-Identifier: Apache-2.0
// How operators call what the user gave them: with the record, or with the record and its meta. Callables are kept by
// value, one copy per lane, so what they keep between calls needs no lock.
//
// An operator's stage has `template <class T> bool push(const T&, const RecordMeta&)`; false stops the run
// (RecordFlow knows why). No operator knows of acks: a record that goes nowhere is delivered with its batch (INV-1).
#pragma once

#include <concepts>
#include <functional>
#include <type_traits>

#include "millrace/record/record_meta.h"

#pragma GCC visibility push(default)
namespace millrace::ops::detail {

template <class Callable, class T>
concept TakesRecord = std::invocable<Callable&, const T&>;
template <class Callable, class T>
concept TakesRecordAndMeta = std::invocable<Callable&, const T&, const RecordMeta&>;

/// What the callable returns for a T.
template <class Callable, class T>
decltype(auto) call(Callable& callable, const T& record, const RecordMeta& meta) {
  if constexpr (TakesRecord<Callable, T>) {
    return std::invoke(callable, record);
  } else {
    static_assert(TakesRecordAndMeta<Callable, T>,
                  "this callable takes neither (const T&) nor (const T&, const RecordMeta&), where T is the type of "
                  "record that the stage before it gives on");
    return std::invoke(callable, record, meta);
  }
}

template <class Callable, class T>
using CallResult =
    decltype(call(std::declval<Callable&>(), std::declval<const T&>(), std::declval<const RecordMeta&>()));

}  // namespace millrace::ops::detail
#pragma GCC visibility pop
