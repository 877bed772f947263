// SPDX-License-Identifier: Apache-2.0
// Decoders that give a payload on as it is: raw() says nothing about its bytes, text() vouches for UTF-8.
//
// A decoder's stage has `take(payload, readable_padding, meta)`, which pushes 0..n records on and returns false when
// the run must stop (RecordFlow knows why). One per lane, on its thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "millrace/decode/json_checker.h"
#include "millrace/decode/payload.h"
#include "millrace/record/chain_part.h"
#include "millrace/record/on_error.h"
#include "millrace/record/record_flow.h"

#pragma GCC visibility push(default)
namespace millrace::decode {

struct RawDecoder : ChainPart {
  [[nodiscard]] static constexpr bool may_multiply() noexcept { return false; }

  template <class Next>
  class Stage {
   public:
    Stage(RecordFlow& flow, Next next) : flow_(&flow), next_(std::move(next)) {}
    [[nodiscard]] bool take(std::string_view payload, std::size_t readable_padding, const RecordMeta& meta) {
      ++flow_->decoded;
      return next_.push(Bytes{payload, readable_padding}, meta);
    }

   private:
    RecordFlow* flow_;
    Next next_;
  };
  template <class Binder, class Next>
  auto bind(Binder& binder, const std::string& /*at*/, Next next) && {
    return Stage<Next>(binder.flow(), std::move(next));
  }
};

struct TextOptions {
  OnError on_error = OnError::fail;
};

struct TextDecoder : ChainPart {
  TextOptions options;
  [[nodiscard]] static constexpr bool may_multiply() noexcept { return false; }

  template <class Next>
  class Stage {
   public:
    Stage(RecordFlow& flow, StageId id, TextOptions options, Next next)
        : flow_(&flow), id_(id), options_(options), next_(std::move(next)) {}
    [[nodiscard]] bool take(std::string_view payload, std::size_t /*readable_padding*/, const RecordMeta& meta) {
      if (!is_utf8_text(payload)) [[unlikely]]
        return flow_->reject(not_utf8(payload), options_.on_error, id_, meta);
      ++flow_->decoded;
      return next_.push(Text{payload}, meta);
    }

   private:
    RecordFlow* flow_;
    StageId id_;
    TextOptions options_;
    Next next_;
  };
  template <class Binder, class Next>
  auto bind(Binder& binder, const std::string& at, Next next) && {
    return Stage<Next>(binder.flow(), binder.flow().add_stage(at + " (decode text)"), options, std::move(next));
  }
};

/// The payload's bytes, whatever they are: records of decode::Bytes.
[[nodiscard]] inline RawDecoder raw() { return {}; }
/// The payload as text: records of decode::Text; what is not UTF-8 is a record error (invalid_utf8).
[[nodiscard]] inline TextDecoder text(TextOptions options = {}) { return {{}, options}; }

}  // namespace millrace::decode
#pragma GCC visibility pop
