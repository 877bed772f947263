// SPDX-License-Identifier: Apache-2.0
// flat_map: one record in, 0..n out. All of them, or with a failure none, reach the sinks; the source's offset waits
// for all.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <ranges>
#include <string>
#include <type_traits>
#include <utility>

#include "millrace/ops/callable.h"
#include "millrace/record/chain_part.h"
#include "millrace/record/record_flow.h"

#pragma GCC visibility push(default)
namespace millrace::ops {

template <class Callable>
struct FlatMap : ChainPart {
  Callable callable;
  [[nodiscard]] static constexpr bool may_multiply() noexcept { return true; }

  template <class Next>
  class Stage {
   public:
    /// Gives one record on. Cheap to copy; holds while the callable runs. False: the run stops, more is not taken.
    class Emit {
     public:
      Emit(Stage& stage, const RecordMeta& meta, bool& going) : stage_(&stage), meta_(&meta), going_(&going) {}
      template <class U>
      bool operator()(const U& record) const {
        if (!*going_) return false;
        *going_ = stage_->emit(record, *meta_);
        return *going_;
      }

     private:
      Stage* stage_;
      const RecordMeta* meta_;
      bool* going_;
    };

    Stage(RecordFlow& flow, StageId id, Callable callable, Next next)
        : flow_(&flow), id_(id), callable_(std::move(callable)), next_(std::move(next)) {}
    template <class T>
    [[nodiscard]] bool push(const T& record, const RecordMeta& meta) {
      flow_->running = id_;
      emitted_ = 0;
      bool going = true;
      const Emit emit(*this, meta, going);
      // The forms with `emit` first: a callable of two `auto`s must not be asked whether it takes a RecordMeta.
      if constexpr (std::invocable<Callable&, const T&, const Emit&>) {
        std::invoke(callable_, record, emit);
      } else if constexpr (std::invocable<Callable&, const T&, const RecordMeta&, const Emit&>) {
        std::invoke(callable_, record, meta, emit);
      } else {
        static_assert(std::ranges::input_range<detail::CallResult<Callable, T>>,
                      "ops::flat_map: the callable takes (const T&[, const RecordMeta&], emit) and calls emit(record), "
                      "or takes (const T&[, const RecordMeta&]) and returns a range of records");
        for (auto&& one : detail::call(callable_, record, meta)) {
          if (!emit(std::as_const(one))) break;
        }
      }
      if (emitted_ == 0) ++flow_->filtered;
      return going;
    }

   private:
    template <class U>
    bool emit(const U& record, const RecordMeta& meta) {
      ++emitted_;
      const bool going = next_.push(record, meta);
      flow_->running = id_;
      return going;
    }

    RecordFlow* flow_;
    StageId id_;
    Callable callable_;
    Next next_;
    std::uint64_t emitted_ = 0;
  };
  template <class Binder, class Next>
  auto bind(Binder& binder, const std::string& at, Next next) && {
    return Stage<Next>(binder.flow(), binder.flow().add_stage(at + " (flat_map)"), std::move(callable),
                       std::move(next));
  }
};

/// `callable(const T&, emit)`, which calls `emit(record)` for each record that goes on, or `callable(const T&)`, which
/// returns a range of them; either may take a `const RecordMeta&` behind the record. With none, the record counts as
/// filtered.
template <class Callable>
[[nodiscard]] FlatMap<std::decay_t<Callable>> flat_map(Callable&& callable) {
  return {{}, std::forward<Callable>(callable)};
}

}  // namespace millrace::ops
#pragma GCC visibility pop
