// SPDX-License-Identifier: Apache-2.0
// map: one record in, one out, never fails. try_map: the same with a callable that may refuse a record.
#pragma once

#include <string>
#include <type_traits>
#include <utility>

#include "millrace/base/result.h"
#include "millrace/ops/callable.h"
#include "millrace/record/chain_part.h"
#include "millrace/record/on_error.h"
#include "millrace/record/record_flow.h"

#pragma GCC visibility push(default)
namespace millrace::ops {

template <class Callable>
struct Map : ChainPart {
  Callable callable;
  [[nodiscard]] static constexpr bool may_multiply() noexcept { return false; }

  template <class Next>
  class Stage {
   public:
    Stage(RecordFlow& flow, StageId id, Callable callable, Next next)
        : flow_(&flow), id_(id), callable_(std::move(callable)), next_(std::move(next)) {}
    template <class T>
    [[nodiscard]] bool push(const T& record, const RecordMeta& meta) {
      static_assert(!std::is_void_v<detail::CallResult<Callable, T>>,
                    "ops::map: the callable must return the new record");
      flow_->running = id_;
      auto&& mapped = detail::call(callable_, record, meta);
      return next_.push(std::as_const(mapped), meta);
    }

   private:
    RecordFlow* flow_;
    StageId id_;
    Callable callable_;
    Next next_;
  };
  template <class Binder, class Next>
  auto bind(Binder& binder, const std::string& at, Next next) && {
    return Stage<Next>(binder.flow(), binder.flow().add_stage(at + " (map)"), std::move(callable), std::move(next));
  }
};

/// `callable(const T&)` or `callable(const T&, const RecordMeta&)` returns the record that goes on: a value, or a
/// reference or view that holds until the next record.
template <class Callable>
[[nodiscard]] Map<std::decay_t<Callable>> map(Callable&& callable) {
  return {{}, std::forward<Callable>(callable)};
}

struct TryMapOptions {
  OnError on_error = OnError::fail;
};

template <class Callable>
struct TryMap : ChainPart {
  Callable callable;
  TryMapOptions options;
  [[nodiscard]] static constexpr bool may_multiply() noexcept { return false; }

  template <class Next>
  class Stage {
   public:
    Stage(RecordFlow& flow, StageId id, Callable callable, TryMapOptions options, Next next)
        : flow_(&flow), id_(id), callable_(std::move(callable)), options_(options), next_(std::move(next)) {}
    template <class T>
    [[nodiscard]] bool push(const T& record, const RecordMeta& meta) {
      flow_->running = id_;
      auto&& mapped = detail::call(callable_, record, meta);
      static_assert(std::is_same_v<typename std::remove_cvref_t<decltype(mapped)>::error_type, Error>,
                    "ops::try_map: the callable must return millrace::Result<U>");
      if (!mapped.has_value()) [[unlikely]]
        return flow_->reject(mapped.error(), options_.on_error, id_, meta);
      return next_.push(std::as_const(*mapped), meta);
    }

   private:
    RecordFlow* flow_;
    StageId id_;
    Callable callable_;
    TryMapOptions options_;
    Next next_;
  };
  template <class Binder, class Next>
  auto bind(Binder& binder, const std::string& at, Next next) && {
    return Stage<Next>(binder.flow(), binder.flow().add_stage(at + " (try_map)"), std::move(callable), options,
                       std::move(next));
  }
};

/// `callable` as for map, returning Result<U>. Error::record(code, why) is skipped (counted under `code`) or fails, as
/// `on_error` says; any other class of error fails the run.
template <class Callable>
[[nodiscard]] TryMap<std::decay_t<Callable>> try_map(Callable&& callable, TryMapOptions options = {}) {
  return {{}, std::forward<Callable>(callable), options};
}

}  // namespace millrace::ops
#pragma GCC visibility pop
