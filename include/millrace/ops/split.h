// SPDX-License-Identifier: Apache-2.0
// split: each record to the first branch whose predicate it meets. fan_out: each record to every branch. A branch is a
// chain of its own down to its encoder and sink; the source's offset waits for all that a record went to.
#pragma once

#include <cstddef>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "millrace/base/error.h"
#include "millrace/ops/callable.h"
#include "millrace/record/chain_part.h"
#include "millrace/record/on_error.h"
#include "millrace/record/record_flow.h"

#pragma GCC visibility push(default)
namespace millrace::ops {

/// The predicate of otherwise().
struct Always {
  template <class T>
  bool operator()(const T& /*record*/) const noexcept {
    return true;
  }
};

template <class Predicate, class Row>
struct Branch {
  Predicate predicate;
  Row row;
};

/// A branch for the records that meet `predicate(const T&)` or `predicate(const T&, const RecordMeta&)`.
template <class Predicate, IsChainPart Part>
[[nodiscard]] auto when(Predicate&& predicate, Part&& branch) {
  auto row = as_row(std::forward<Part>(branch));
  return Branch<std::decay_t<Predicate>, decltype(row)>{std::forward<Predicate>(predicate), std::move(row)};
}
/// The branch for all others; the last one.
template <IsChainPart Part>
[[nodiscard]] auto otherwise(Part&& branch) {
  return when(Always{}, std::forward<Part>(branch));
}

struct SplitOptions {
  OnError on_unmatched = OnError::fail;  ///< of a record no branch wants: a record error (unrouted)
};

template <class... Branches>
struct Split : ChainPart {
  SplitOptions options;
  std::tuple<Branches...> branches;
  [[nodiscard]] bool may_multiply() const noexcept {
    return std::apply([](const auto&... branch) { return (branch.row.may_multiply() || ...); }, branches);
  }

  template <class Predicate, class First>
  struct Arm {
    Predicate predicate;
    First first;
  };
  template <class... Arms>
  class Stage {
   public:
    Stage(RecordFlow& flow, StageId id, SplitOptions options, std::tuple<Arms...> arms)
        : flow_(&flow), id_(id), options_(options), arms_(std::move(arms)) {}
    template <class T>
    [[nodiscard]] bool push(const T& record, const RecordMeta& meta) {
      bool taken = false;
      bool going = true;
      const auto offer = [&](auto& arm) {
        flow_->running = id_;
        taken = static_cast<bool>(detail::call(arm.predicate, record, meta));
        if (taken) going = arm.first.push(record, meta);
        return taken;
      };
      std::apply([&](auto&... arm) { static_cast<void>((offer(arm) || ...)); }, arms_);
      if (!taken) [[unlikely]] {
        return flow_->reject(Error::record(ErrorCode::unrouted, "no branch takes this record; add ops::otherwise(...)"),
                             options_.on_unmatched, id_, meta);
      }
      return going;
    }

   private:
    RecordFlow* flow_;
    StageId id_;
    SplitOptions options_;
    std::tuple<Arms...> arms_;
  };
  template <class Binder>
  auto bind(Binder& binder, const std::string& at) && {
    const StageId id = binder.flow().add_stage(at + " (split)");
    return [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
      std::tuple arms{Arm{std::move(std::get<kIndex>(branches).predicate),
                          binder.bind_row(std::move(std::get<kIndex>(branches).row),
                                          at + ", branch " + std::to_string(kIndex + 1))}...};
      return std::apply(
          [&](auto&... arm) {
            return Stage<std::remove_cvref_t<decltype(arm)>...>(binder.flow(), id, options, std::move(arms));
          },
          arms);
    }(std::index_sequence_for<Branches...>());
  }
};

/// Sends each record to the first branch that wants it: split(when(...), ..., otherwise(...)).
template <class... Predicates, class... Rows>
[[nodiscard]] Split<Branch<Predicates, Rows>...> split(SplitOptions options, Branch<Predicates, Rows>... branches) {
  return {{}, options, std::tuple(std::move(branches)...)};
}
template <class... Predicates, class... Rows>
[[nodiscard]] Split<Branch<Predicates, Rows>...> split(Branch<Predicates, Rows>... branches) {
  return {{}, {}, std::tuple(std::move(branches)...)};
}

template <class... Rows>
struct FanOut : ChainPart {
  std::tuple<Rows...> rows;
  [[nodiscard]] static constexpr bool may_multiply() noexcept { return true; }

  template <class... Firsts>
  class Stage {
   public:
    explicit Stage(std::tuple<Firsts...> firsts) : firsts_(std::move(firsts)) {}
    template <class T>
    [[nodiscard]] bool push(const T& record, const RecordMeta& meta) {
      return std::apply([&](auto&... first) { return (first.push(record, meta) && ...); }, firsts_);
    }

   private:
    std::tuple<Firsts...> firsts_;
  };
  template <class Binder>
  auto bind(Binder& binder, const std::string& at) && {
    return [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
      std::tuple firsts{
          binder.bind_row(std::move(std::get<kIndex>(rows)), at + ", branch " + std::to_string(kIndex + 1))...};
      return std::apply(
          [&](auto&... first) { return Stage<std::remove_cvref_t<decltype(first)>...>(std::move(firsts)); }, firsts);
    }(std::index_sequence_for<Rows...>());
  }
};

/// Sends each record to every branch: fan_out(encode::json_lines().to("a"), map(...) | encode::raw().to("b")).
template <IsChainPart... Parts>
[[nodiscard]] auto fan_out(Parts&&... branches) {
  return FanOut<decltype(as_row(std::forward<Parts>(branches)))...>{
      {}, std::tuple(as_row(std::forward<Parts>(branches))...)};
}

}  // namespace millrace::ops
#pragma GCC visibility pop
