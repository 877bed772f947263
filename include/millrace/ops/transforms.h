// SPDX-License-Identifier: Apache-2.0
// transforms: a list of transforms (transform_spec.h) as one part of a chain. Documents are edited by splicing their
// own bytes: what no transform touches stays as it came, spelling of numbers, order and repetition of keys included.
//
//   MILLRACE_ASSIGN(auto program, ops::TransformProgram::make({ops::DeleteFields{...}, ops::KeepWhere{"total > 10"}}));
//   decode::json() | ops::transforms(program) | encode::json_lines()
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/base/error.h"
#include "millrace/base/result.h"
#include "millrace/base/time.h"
#include "millrace/decode/payload.h"
#include "millrace/ops/transform_spec.h"
#include "millrace/record/chain_part.h"
#include "millrace/record/on_error.h"
#include "millrace/record/record_flow.h"

#pragma GCC visibility push(default)
namespace millrace::ops {

/// A checked list. Cheap to copy; immutable, any thread.
class TransformProgram {
 public:
  TransformProgram() = default;
  /// Fails (config) with what is wrong, the transform's place in the list in front.
  [[nodiscard]] static Result<TransformProgram> make(std::vector<TransformSpec> list);
  /// One transform alone, as make() checks it.
  [[nodiscard]] static Result<void> check(const TransformSpec& spec);

  [[nodiscard]] const std::vector<TransformSpec>& list() const noexcept;
  [[nodiscard]] bool empty() const noexcept { return list().empty(); }
  /// Whether one document may become several.
  [[nodiscard]] bool may_multiply() const noexcept;
  /// What in the list makes other bytes when the same record comes again ("transforms[0] (add_fields): uuid_v4"); empty
  /// when nothing does.
  [[nodiscard]] std::string varies_with() const;
  /// Bytes that one document of `record` bytes may have become, all that it became together.
  [[nodiscard]] std::uint64_t grown(std::uint64_t record) const noexcept;
  /// Bytes that a lane holds to transform documents of `record` bytes.
  [[nodiscard]] std::uint64_t held(std::uint64_t record) const noexcept;

 private:
  std::shared_ptr<const std::vector<TransformSpec>> list_;
};

/// Runs a program over documents. One per lane, on its thread; buffers are kept, so that a document costs no allocation
/// once they have grown (jq apart, which allocates as it likes).
class TransformRunner {
 public:
  /// Both outlive it, and are asked for nothing but computed values.
  TransformRunner(const TransformProgram& program, const Clock& clock, Random& random);
  TransformRunner(TransformRunner&&) noexcept;
  TransformRunner& operator=(TransformRunner&&) noexcept;
  ~TransformRunner();

  /// A document, or, `sound` being false, what may be one. False: failure() and failed_at() say why and where; nothing
  /// of it is given on.
  [[nodiscard]] bool run(decode::Json document, std::size_t readable_padding, bool sound, const RecordMeta& meta);
  /// What the last document became; until the next run.
  [[nodiscard]] std::span<const decode::Json> documents() const noexcept;
  /// How many were dropped on the way.
  [[nodiscard]] std::uint64_t dropped() const noexcept;
  [[nodiscard]] Error failure() const;
  /// Index in the list; its size where the record was no JSON.
  [[nodiscard]] std::size_t failed_at() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct TransformOptions {
  OnError on_error = OnError::fail;
  const Clock* clock = &Clock::real();
  Random* random = &Random::system();
};

struct Transforms : ChainPart {
  TransformProgram program;
  TransformOptions options;
  [[nodiscard]] bool may_multiply() const noexcept { return program.may_multiply(); }

  template <class Next>
  class Stage {
   public:
    /// `ids`: of each transform, and a last one for what is no JSON.
    Stage(RecordFlow& flow, std::vector<StageId> ids, const Transforms& part, Next next)
        : flow_(&flow),
          ids_(std::move(ids)),
          on_error_(part.options.on_error),
          runner_(part.program, *part.options.clock, *part.options.random),
          next_(std::move(next)) {}
    template <class T>
    [[nodiscard]] bool push(const T& record, const RecordMeta& meta) {
      flow_->running = ids_.back();
      bool ran = false;
      if constexpr (std::same_as<T, decode::Json>) {
        ran = runner_.run(record, 0, true, meta);
      } else if constexpr (std::same_as<T, decode::Bytes>) {
        ran = runner_.run({record.view}, record.readable_padding, false, meta);
      } else {
        static_assert(std::convertible_to<const T&, std::string_view>,
                      "ops::transforms: takes JSON documents (decode::Json, or bytes and text that hold one); put it "
                      "before what makes other types of them");
        ran = runner_.run({record}, 0, false, meta);
      }
      if (!ran) [[unlikely]]
        return flow_->reject(runner_.failure(), on_error_, ids_[runner_.failed_at()], meta);
      flow_->filtered += runner_.dropped();
      for (const decode::Json& document : runner_.documents()) {
        if (!next_.push(document, meta)) return false;
      }
      return true;
    }

   private:
    RecordFlow* flow_;
    std::vector<StageId> ids_;
    OnError on_error_;
    TransformRunner runner_;
    Next next_;
  };
  template <class Binder, class Next>
  auto bind(Binder& binder, const std::string& at, Next next) && {
    std::vector<StageId> ids;
    for (const TransformSpec& spec : program.list()) {
      ids.push_back(binder.flow().add_stage(at + " (transforms[" + std::to_string(ids.size()) + "], " +
                                            std::string(name_of(spec)) + ")"));
    }
    ids.push_back(binder.flow().add_stage(at + " (transforms)"));
    return Stage<Next>(binder.flow(), std::move(ids), *this, std::move(next));
  }
};

/// Runs `program` over each document: records of decode::Json. One that a transform cannot be applied to is a record
/// error.
[[nodiscard]] inline Transforms transforms(TransformProgram program, TransformOptions options = {}) {
  return {{}, std::move(program), options};
}

}  // namespace millrace::ops
#pragma GCC visibility pop
