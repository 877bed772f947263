// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "millrace/base/bounded.h"
#include "millrace/ops/transforms.h"
#include "ops/transforms/jq_words.h"
#include "ops/transforms/transform_step.h"

namespace millrace {
namespace transforms {
namespace {

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};

Result<PutFields> make_put(const std::vector<ops::FieldSetting>& fields, bool conditions) {
  for (const ops::FieldSetting& field : fields) {
    if (!conditions && field.condition != ops::SetWhen::always) {
      return fail(Error::config("add_fields sets its fields always; update_fields has conditions"));
    }
  }
  return PutFields::make(fields);
}

template <class Step>
Result<TransformStep> as_step(Result<Step> made) {
  if (!made) return fail(std::move(made).error());
  return TransformStep(*std::move(made));
}

}  // namespace

Result<TransformStep> make_step(const ops::TransformSpec& spec) {
  return std::visit(Overloaded{[](const ops::AddFields& s) { return as_step(make_put(s.fields, false)); },
                               [](const ops::UpdateFields& s) { return as_step(make_put(s.fields, true)); },
                               [](const ops::DeleteFields& s) { return as_step(DropFields::make(s.fields)); },
                               [](const ops::FilterFields& s) { return as_step(FilterFieldsStep::make(s)); },
                               [](const ops::UnwrapEnvelope& s) { return as_step(UnwrapStep::make(s.field)); },
                               [](const ops::KeepWhere& s) { return as_step(Where::make(s.where)); },
                               [](const ops::ProjectFields& s) { return as_step(KeepFields::make(s.fields)); },
                               [](const ops::RenameFields& s) { return as_step(RenameStep::make(s.fields)); },
                               [](const ops::FlattenFields& s) { return as_step(FlattenStep::make(s)); },
                               [](const ops::JqFilter& s) { return as_step(JqProgram::make(s)); }},
                    spec);
}

}  // namespace transforms

namespace ops {
namespace {

std::string_view varies_with(const std::vector<FieldSetting>& fields) {
  const auto found =
      std::ranges::find_if(fields, [](const FieldSetting& field) { return transforms::varies(field.value.computed); });
  return found == fields.end() ? std::string_view() : name_of(found->value.computed);
}

/// What one record has become, at most.
struct Growth {
  std::uint64_t documents = 1;
  std::uint64_t bytes = 0;  ///< of all of them
};

Growth grown_by(const TransformSpec& spec, Growth before) {
  using transforms::Overloaded;
  const auto each = [&](std::uint64_t bytes) {
    return Growth{before.documents, bounded_sum(before.bytes, bounded_product(before.documents, bytes))};
  };
  return std::visit(
      Overloaded{[&](const AddFields& s) { return each(transforms::PutFields::growth(s.fields)); },
                 [&](const UpdateFields& s) { return each(transforms::PutFields::growth(s.fields)); },
                 [&](const RenameFields& s) { return each(transforms::RenameStep::growth(s.fields)); },
                 [&](const FlattenFields&) {
                   return Growth{before.documents,
                                 bounded_sum(before.bytes, transforms::FlattenStep::growth(before.bytes))};
                 },
                 [&](const JqFilter& s) { return Growth{s.max_outputs, transforms::JqProgram::most(before.bytes)}; },
                 [&](const auto&) { return before; }},
      spec);
}

// A buffer that grows by half has its old one beside it.
constexpr std::uint64_t kGrowing = 3;

/// What a document of `longest` bytes takes between the beginning or a jq and the next jq or the end: its tokens (eight
/// bytes for each of its own) and a copy of it; and, with steps between, two buffers that it is written to in turns, an
/// edit of 24 bytes and a match of 32 for each field of five, and texts for what is put in.
std::uint64_t on_the_way(std::uint64_t longest, bool steps) {
  const std::uint64_t tokens = bounded_product(8, std::max<std::uint64_t>(longest, std::uint64_t{8} << 10U));
  const std::uint64_t read = bounded_sum(tokens, bounded_product(kGrowing, longest));
  if (!steps) return read;
  return bounded_sum(read, bounded_product(kGrowing * (3 + (24 + 32) / 5), longest));
}

const std::vector<TransformSpec>& none() {
  static const std::vector<TransformSpec> empty;
  return empty;
}

}  // namespace

std::string_view name_of(const TransformSpec& spec) noexcept {
  static constexpr std::array<std::string_view, std::variant_size_v<TransformSpec>> kNames{
      "add_fields", "delete_fields", "filter_fields", "update_fields", "unwrap_envelope",
      "filter",     "project",       "rename",        "flatten",       "jq"};
  return kNames[spec.index()];
}

Result<void> TransformProgram::check(const TransformSpec& spec) {
  auto made = transforms::make_step(spec);
  if (!made) return fail(std::move(made).error());
  return {};
}

Result<TransformProgram> TransformProgram::make(std::vector<TransformSpec> list) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (auto checked = check(list[i]); !checked) {
      return fail(std::move(checked).error().prefixed(fmt::format("transforms[{}] ({}): ", i, name_of(list[i]))));
    }
  }
  TransformProgram program;
  program.list_ = std::make_shared<const std::vector<TransformSpec>>(std::move(list));
  return program;
}

const std::vector<TransformSpec>& TransformProgram::list() const noexcept { return list_ ? *list_ : none(); }

bool TransformProgram::may_multiply() const noexcept {
  return std::ranges::any_of(list(), [](const TransformSpec& spec) { return std::holds_alternative<JqFilter>(spec); });
}

std::string TransformProgram::varies_with() const {
  for (std::size_t i = 0; i < list().size(); ++i) {
    const TransformSpec& spec = list()[i];
    std::string_view with;
    if (const auto* add = std::get_if<AddFields>(&spec)) with = ops::varies_with(add->fields);
    if (const auto* update = std::get_if<UpdateFields>(&spec)) with = ops::varies_with(update->fields);
    if (const auto* jq = std::get_if<JqFilter>(&spec)) with = transforms::jq_varies_with(jq->program);
    if (!with.empty()) return fmt::format("transforms[{}] ({}): {}", i, name_of(spec), with);
  }
  return {};
}

std::uint64_t TransformProgram::grown(std::uint64_t record) const noexcept {
  Growth growth{1, record};
  for (const TransformSpec& spec : list()) growth = grown_by(spec, growth);
  return growth.bytes;
}

std::uint64_t TransformProgram::held(std::uint64_t record) const noexcept {
  if (list().empty()) return 0;
  // jq's own values: a number of two bytes ("1,") becomes one of sixteen, its place in an array another sixteen, and a
  // program has a few of a document's kind at a time.
  constexpr std::uint64_t kJq = 64;
  // Of each document that a jq gives out: where it ends, here and among what is kept, and a view of it.
  constexpr std::uint64_t kOutput = 2 * sizeof(std::size_t) + sizeof(decode::Json);
  std::uint64_t all = 0;
  Growth growth{1, record};
  std::uint64_t longest = record;  // since the jq before
  bool steps = false;              // likewise
  for (const TransformSpec& spec : list()) {
    const Growth next = grown_by(spec, growth);
    if (std::holds_alternative<JqFilter>(spec)) {
      all = bounded_sum(all, on_the_way(longest, std::exchange(steps, false)));
      all = bounded_sum(all, bounded_product(kGrowing, next.bytes));
      all = bounded_sum(all, bounded_product(kGrowing * kOutput, next.documents));
      all = bounded_sum(all, bounded_product(kJq, growth.bytes));
      longest = 0;
    } else {
      steps = true;
    }
    if (const auto* filter = std::get_if<FilterFields>(&spec)) {
      all = bounded_sum(all, transforms::FilterFieldsStep::regexes(*filter) * transforms::Regex::kMemory);
    }
    // The keys of a flat document, of five bytes each with what lies around them (JsonKeys).
    if (std::holds_alternative<FlattenFields>(spec)) {
      all = bounded_sum(all, bounded_sum(bounded_product(kGrowing * 32, next.bytes / 5 + 1), next.bytes));
    }
    longest = std::max(longest, next.bytes);
    growth = next;
  }
  // What several documents have become is kept until the last of them.
  if (may_multiply()) all = bounded_sum(all, bounded_product(kGrowing, growth.bytes));
  return bounded_sum(all, on_the_way(longest, steps));
}

}  // namespace ops
}  // namespace millrace
