// SPDX-License-Identifier: Apache-2.0
// filter: drops records on purpose, counted as filtered. inspect: looks at each and gives it on.
#pragma once

#include <string>
#include <type_traits>
#include <utility>

#include "millrace/ops/callable.h"
#include "millrace/record/chain_part.h"
#include "millrace/record/record_flow.h"

#pragma GCC visibility push(default)
namespace millrace::ops {

template <class Predicate>
struct Filter : ChainPart {
  Predicate predicate;
  [[nodiscard]] static constexpr bool may_multiply() noexcept { return false; }

  template <class Next>
  class Stage {
   public:
    Stage(RecordFlow& flow, StageId id, Predicate predicate, Next next)
        : flow_(&flow), id_(id), predicate_(std::move(predicate)), next_(std::move(next)) {}
    template <class T>
    [[nodiscard]] bool push(const T& record, const RecordMeta& meta) {
      flow_->running = id_;
      if (detail::call(predicate_, record, meta)) return next_.push(record, meta);
      ++flow_->filtered;
      return true;
    }

   private:
    RecordFlow* flow_;
    StageId id_;
    Predicate predicate_;
    Next next_;
  };
  template <class Binder, class Next>
  auto bind(Binder& binder, const std::string& at, Next next) && {
    return Stage<Next>(binder.flow(), binder.flow().add_stage(at + " (filter)"), std::move(predicate), std::move(next));
  }
};

/// Keeps the records for which `predicate(const T&)` or `predicate(const T&, const RecordMeta&)` is true.
template <class Predicate>
[[nodiscard]] Filter<std::decay_t<Predicate>> filter(Predicate&& predicate) {
  return {{}, std::forward<Predicate>(predicate)};
}

template <class Look>
struct Inspect : ChainPart {
  Look look;
  [[nodiscard]] static constexpr bool may_multiply() noexcept { return false; }

  template <class Next>
  class Stage {
   public:
    Stage(RecordFlow& flow, StageId id, Look look, Next next)
        : flow_(&flow), id_(id), look_(std::move(look)), next_(std::move(next)) {}
    template <class T>
    [[nodiscard]] bool push(const T& record, const RecordMeta& meta) {
      flow_->running = id_;
      static_cast<void>(detail::call(look_, record, meta));
      return next_.push(record, meta);
    }

   private:
    RecordFlow* flow_;
    StageId id_;
    Look look_;
    Next next_;
  };
  template <class Binder, class Next>
  auto bind(Binder& binder, const std::string& at, Next next) && {
    return Stage<Next>(binder.flow(), binder.flow().add_stage(at + " (inspect)"), std::move(look), std::move(next));
  }
};

/// Calls `look(const T&)` or `look(const T&, const RecordMeta&)` with every record that passes.
template <class Look>
[[nodiscard]] Inspect<std::decay_t<Look>> inspect(Look&& look) {
  return {{}, std::forward<Look>(look)};
}

}  // namespace millrace::ops
#pragma GCC visibility pop
