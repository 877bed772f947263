// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <concepts>
#include <tuple>
#include <utility>
#include <vector>

#include "decode/json_faults.h"
#include "millrace/base/check.h"
#include "millrace/ops/transforms.h"
#include "ops/transforms/lane_random.h"
#include "ops/transforms/transform_step.h"

namespace millrace::ops {

using transforms::Document;
using transforms::Effect;

namespace {

/// Where documents are while they pass from one jq, or the beginning, to the next, or the end.
struct Leg {
  Document document;
  ByteBuffer buffers[2];  ///< written to in turns
  ByteBuffer outputs;     ///< of the jq at its end
  std::vector<std::size_t> ends;
};

}  // namespace

struct TransformRunner::State {
  explicit State(const Clock& clock, Random& random) : lane_random(random) {
    context.clock = &clock;
    context.random = &lane_random;
  }

  transforms::LaneRandom lane_random;
  transforms::RunContext context;
  transforms::Edits edits;
  std::vector<transforms::TransformStep> steps;
  std::vector<Leg> legs;
  std::vector<decode::Json> documents;
  ByteBuffer kept;  ///< of several documents, where there is a jq
  std::vector<std::size_t> kept_ends;
  std::uint64_t dropped = 0;
  std::size_t at = 0;  ///< the step that runs
  bool may_break_lines = true;

  [[nodiscard]] bool advance(std::size_t leg, std::size_t from);
  [[nodiscard]] bool multiply(transforms::JqProgram& jq, std::size_t leg, std::size_t step);
  [[nodiscard]] Effect apply(transforms::TransformStep& step, Document& document);
  [[nodiscard]] bool settle(Leg& leg, transforms::TransformStep& step, bool& second);
};

/// Takes the document of a leg through the steps to its end.
bool TransformRunner::State::advance(std::size_t leg, std::size_t from) {
  Document& document = legs[leg].document;
  bool second = false;
  for (at = from; at != steps.size(); ++at) {
    if (auto* const jq = std::get_if<transforms::JqProgram>(&steps[at])) return multiply(*jq, leg, at);
    if (!document.scan()) [[unlikely]] {
      context.failure = json_error(document.fault(), document.text());
      return false;
    }
    edits.clear();
    switch (apply(steps[at], document)) {
      case Effect::untouched:
        break;
      case Effect::edited:
        if (!settle(legs[leg], steps[at], second)) return false;
        break;
      case Effect::narrowed: {
        const std::string_view text = document.text();
        const std::size_t behind = static_cast<std::size_t>(text.end() - context.part.end());
        document.reset(context.part, document.padding() + behind);
        break;
      }
      case Effect::dropped:
        ++dropped;
        return true;
      case Effect::failed:
        return false;
    }
  }
  if (legs.size() == 1) {
    documents.push_back({document.text(), may_break_lines});
  } else {
    kept.append(document.text());
    kept_ends.push_back(kept.size());
  }
  return true;
}

/// The document becomes what the edits say.
bool TransformRunner::State::settle(Leg& leg, transforms::TransformStep& step, bool& second) {
  ByteBuffer& out = leg.buffers[static_cast<std::size_t>(second)];
  second = !second;
  edits.apply(leg.document.text(), out);
  leg.document.reset(out.view(), kBytePadding);
  auto* const flatten = std::get_if<transforms::FlattenStep>(&step);
  return flatten == nullptr || flatten->names_differ(leg.document, context);
}

bool TransformRunner::State::multiply(transforms::JqProgram& jq, std::size_t leg, std::size_t step) {
  Leg& before = legs[leg];
  Leg& behind = legs[leg + 1];
  before.outputs.clear();
  before.ends.clear();
  if (!jq.run(before.document.text(), context, before.outputs, before.ends)) return false;
  if (before.ends.empty()) ++dropped;
  // To be looked at in place.
  const std::size_t size = before.outputs.size();
  std::ignore = before.outputs.grow(kBytePadding);
  std::size_t begin = 0;
  for (const std::size_t end : before.ends) {
    behind.document.reset(before.outputs.view().substr(begin, end - begin), kBytePadding + size - end);
    if (!behind.document.check()) [[unlikely]] {
      at = step;
      context.failure = Error::record(
          behind.document.fault().code,
          fmt::format("the jq program gives out a value that cannot be written as JSON (byte {} of what it would be): "
                      "objects and arrays lie deeper in each other than libjq writes them; give out a flatter one",
                      behind.document.fault().at));
      return false;
    }
    if (!advance(leg + 1, step + 1)) return false;
    begin = end;
  }
  return true;
}

Effect TransformRunner::State::apply(transforms::TransformStep& step, Document& document) {
  return std::visit(
      [&](auto& one) -> Effect {
        using Step = std::remove_cvref_t<decltype(one)>;
        if constexpr (std::same_as<Step, transforms::Where>) {
          return one.met_by(document) ? Effect::untouched : Effect::dropped;
        } else if constexpr (std::same_as<Step, transforms::UnwrapStep>) {
          return one.apply(document, context);
        } else if constexpr (std::same_as<Step, transforms::JqProgram>) {
          return Effect::untouched;  // multiply() is its way
        } else {
          return one.apply(document, context, edits);
        }
      },
      step);
}

TransformRunner::TransformRunner(const TransformProgram& program, const Clock& clock, Random& random)
    : state_(std::make_unique<State>(clock, random)) {
  std::size_t legs = 1;
  for (const TransformSpec& spec : program.list()) {
    auto step = transforms::make_step(spec);
    MILLRACE_CHECK(step.has_value(), "a program holds transforms that can be made");
    legs += static_cast<std::size_t>(std::holds_alternative<transforms::JqProgram>(*step));
    state_->steps.push_back(*std::move(step));
  }
  state_->legs.resize(legs);
}

TransformRunner::TransformRunner(TransformRunner&&) noexcept = default;
TransformRunner& TransformRunner::operator=(TransformRunner&&) noexcept = default;
TransformRunner::~TransformRunner() = default;

bool TransformRunner::run(decode::Json document, std::size_t readable_padding, bool sound, const RecordMeta& meta) {
  State& state = *state_;
  state.context.begin(meta);
  state.documents.clear();
  state.kept.clear();
  state.kept_ends.clear();
  state.dropped = 0;
  state.may_break_lines = document.may_break_lines;
  Document& first = state.legs.front().document;
  first.reset(document.view, readable_padding);
  if (!sound && !first.check()) [[unlikely]] {
    state.at = state.steps.size();
    if (decode::is_blank(document.view)) {
      ++state.dropped;
      return true;
    }
    state.context.failure = json_error(first.fault(), document.view);
    return false;
  }
  if (!state.advance(0, 0)) [[unlikely]] {
    return false;
  }
  std::size_t begin = 0;
  for (const std::size_t end : state.kept_ends) {
    state.documents.push_back({state.kept.view().substr(begin, end - begin), state.may_break_lines});
    begin = end;
  }
  return true;
}

std::span<const decode::Json> TransformRunner::documents() const noexcept { return state_->documents; }
std::uint64_t TransformRunner::dropped() const noexcept { return state_->dropped; }
std::size_t TransformRunner::failed_at() const noexcept { return state_->at; }

Error TransformRunner::failure() const {
  return state_->context.failure.value_or(Error::fatal(ErrorCode::internal, "a transform failed without a reason"));
}

}  // namespace millrace::ops
