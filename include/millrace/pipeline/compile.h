// SPDX-License-Identifier: Apache-2.0
// compile: binds a plan (`decode | ops | encode`) to a lane's sinks as one loop. Per record there is no virtual call,
// no allocation, no lock and no formatting of the framework's (INV-8); each call is known to the compiler down to the
// sink.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "millrace/base/result.h"
#include "millrace/pipeline/chain.h"
#include "millrace/pipeline/chain_core.h"
#include "millrace/record/chain_part.h"
#include "millrace/record/on_error.h"

#pragma GCC visibility push(default)
namespace millrace {
namespace detail {

/// The end of a row: a format and where its bytes go.
template <class Format>
class EncoderStage {
 public:
  EncoderStage(RecordFlow& flow, StageId id, Format format, OnError on_error, ChainOutput* output)
      : flow_(&flow), id_(id), on_error_(on_error), output_(output), format_(std::move(format)) {}

  template <class T>
  [[nodiscard]] bool push(const T& record, const RecordMeta& meta) {
    flow_->running = id_;
    if (run_ != flow_->run) [[unlikely]] {
      run_ = flow_->run;
      format_.begin_batch(meta.origin);
    }
    std::string_view route;
    if (RecordRouter* const router = output_->router()) {
      Result<std::string_view> found = router->route(record, meta);
      if (!found) [[unlikely]]
        return flow_->reject(std::move(found).error(), on_error_, id_, meta);
      route = *found;
    }
    Result<void> encoded = format_.encode(record, meta, output_->begin_record(meta, route));
    if (!encoded) [[unlikely]] {
      output_->rollback_record();
      return flow_->reject(std::move(encoded).error(), on_error_, id_, meta);
    }
    output_->end_record(meta);
    return true;
  }

 private:
  RecordFlow* flow_;
  StageId id_;
  OnError on_error_;
  ChainOutput* output_;
  std::uint64_t run_ = 0;
  Format format_;
};

/// What parts bind with (record/chain_part.h).
class ChainBinder {
 public:
  explicit ChainBinder(ChainCore& core) : core_(core) {}

  [[nodiscard]] RecordFlow& flow() noexcept { return core_.flow(); }

  /// The first stage of a row, with all that follow inside it.
  template <class... Parts>
  auto bind_row(PartRow<Parts...> row, const std::string& at = {}) {
    return bind_from<0>(row.parts, at.empty() ? "stage " : at + ", stage ");
  }
  template <class Format>
  auto bind_encoder(Format format, OnError on_error, const std::string& sink, const std::string& at) {
    const StageId id = flow().add_stage(at);
    constexpr bool kFramed = requires { requires Format::kFramed; };
    return EncoderStage<Format>(flow(), id, std::move(format), on_error, core_.output(sink, at, kFramed));
  }

 private:
  template <std::size_t kIndex, class... Parts>
  auto bind_from(std::tuple<Parts...>& parts, const std::string& prefix) {
    auto& part = std::get<kIndex>(parts);
    const std::string at = prefix + std::to_string(kIndex + 1);
    if constexpr (kIndex + 1 == sizeof...(Parts)) {
      static_assert(
          requires { std::move(part).bind(*this, at); },
          "a chain, and each branch of a split, ends with an encoder (encode::...), a split or a fan_out");
      return std::move(part).bind(*this, at);
    } else {
      auto next = bind_from<kIndex + 1>(parts, prefix);
      static_assert(
          requires { std::move(part).bind(*this, at, std::move(next)); },
          "nothing can follow an encoder, a split or a fan_out in a chain");
      return std::move(part).bind(*this, at, std::move(next));
    }
  }

  ChainCore& core_;
};

template <class Decoder>
class CompiledChain final : public LaneChain {
 public:
  /// `core` was bound to `decoder`.
  CompiledChain(std::unique_ptr<ChainCore> core, Decoder decoder)
      : core_(std::move(core)), decoder_(std::move(decoder)) {}

  ChainStep run(const PayloadBatch& batch, std::size_t from, AckRef& ack, AckIssuer& issuer,
                ChainCounts& counts) override {
    if (!core_->begin_run(batch, from, ack, issuer)) return {from, core_->take_refusal()};
    Loop loop{*core_, decoder_, batch};
    std::optional<std::string> thrown = call_user_code([](void* state) { static_cast<Loop*>(state)->run(); }, &loop);
    return core_->end_run(loop.failed, std::move(thrown), counts);
  }

 private:
  struct Loop {
    ChainCore& core;
    Decoder& decoder;
    const PayloadBatch& batch;
    bool failed = false;

    void run() {
      const std::size_t size = batch.payloads.size();
      for (; core.next < size; ++core.next) {
        const RecordMeta meta = batch.meta(core.next);
        if (!core.admits(meta)) return;
        if (!decoder.take(batch.payloads[core.next], batch.readable_padding, meta)) [[unlikely]] {
          failed = true;
          return;
        }
        if (!core.settles(meta)) [[unlikely]] {
          ++core.next;
          return;
        }
      }
    }
  };

  std::unique_ptr<ChainCore> core_;
  Decoder decoder_;
};

}  // namespace detail

/// Makes the chain of one lane from a plan. Fails (config) when the plan names a sink that the lane has not.
template <IsChainPart Plan>
[[nodiscard]] Result<std::unique_ptr<LaneChain>> compile(Plan plan, const ChainContext& context) {
  auto row = as_row(std::move(plan));
  auto core = std::make_unique<ChainCore>(context, row.may_multiply());
  detail::ChainBinder binder(*core);
  auto decoder = binder.bind_row(std::move(row));
  static_assert(
      requires(const RecordMeta& meta) { decoder.take(std::string_view(), std::size_t{0}, meta); },
      "a chain begins with a decoder: decode::raw(), text(), json() or json<T>()");
  if (core->build_error()) return fail(*core->build_error());
  return std::make_unique<detail::CompiledChain<decltype(decoder)>>(std::move(core), std::move(decoder));
}

}  // namespace millrace
#pragma GCC visibility pop
