// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "millrace/base/bounded.h"
#include "millrace/ops/transforms.h"
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
                               [](const ops::JqFilter& s) { return as_step(JqProgram::make(s.program)); }},
                    spec);
}

}  // namespace transforms

namespace ops {
namespace {

/// Whether a jq program asks for the time or the machine: as a word, wherever it stands.
std::string_view asks_jq(std::string_view program) {
  const auto is_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  for (const std::string_view word : {std::string_view("now"), std::string_view("localtime")}) {
    for (std::size_t at = program.find(word); at != std::string_view::npos; at = program.find(word, at + 1)) {
      const std::size_t end = at + word.size();
      if ((at == 0 || !is_word(program[at - 1])) && (end == program.size() || !is_word(program[end]))) return word;
    }
  }
  return {};
}

std::string_view varies_with(const std::vector<FieldSetting>& fields) {
  const auto found =
      std::ranges::find_if(fields, [](const FieldSetting& field) { return transforms::varies(field.value.computed); });
  return found == fields.end() ? std::string_view() : name_of(found->value.computed);
}

std::uint64_t grown_by(const TransformSpec& spec, std::uint64_t record) {
  using transforms::Overloaded;
  return std::visit(
      Overloaded{[&](const AddFields& s) { return bounded_sum(record, transforms::PutFields::growth(s.fields)); },
                 [&](const UpdateFields& s) { return bounded_sum(record, transforms::PutFields::growth(s.fields)); },
                 [&](const RenameFields& s) { return bounded_sum(record, transforms::RenameStep::growth(s.fields)); },
                 [&](const FlattenFields&) {
                   return bounded_sum(record, bounded_sum(bounded_product(16, record), 64U << 10U));
                 },
                 [&](const JqFilter&) { return std::max(bounded_product(4, record), transforms::JqProgram::most(0)); },
                 [&](const auto&) { return record; }},
      spec);
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
    if (const auto* jq = std::get_if<JqFilter>(&spec)) with = asks_jq(jq->program);
    if (!with.empty()) return fmt::format("transforms[{}] ({}): {}", i, name_of(spec), with);
  }
  return {};
}

std::uint64_t TransformProgram::grown(std::uint64_t record) const noexcept {
  for (const TransformSpec& spec : list()) record = grown_by(spec, record);
  return record;
}

std::uint64_t TransformProgram::held(std::uint64_t record) const noexcept {
  // A buffer that grows by half has its old one beside it.
  constexpr std::uint64_t kGrowing = 3;
  // jq's own values: a number of two bytes ("1,") becomes one of sixteen, its place in an array another sixteen, and a
  // program has a few of a document's kind at a time.
  constexpr std::uint64_t kJq = 64;
  std::uint64_t all = 0;
  std::uint64_t longest = record;
  for (const TransformSpec& spec : list()) {
    const std::uint64_t next = grown_by(spec, longest);
    if (std::holds_alternative<JqFilter>(spec)) {
      all = bounded_sum(all, bounded_product(kGrowing, next));
      all = bounded_sum(all, bounded_product(kJq, longest));
    }
    if (const auto* filter = std::get_if<FilterFields>(&spec)) {
      all = bounded_sum(all, transforms::FilterFieldsStep::regexes(*filter) * transforms::Regex::kMemory);
    }
    // The keys of a flat document, of five bytes each with what lies around them (JsonKeys).
    if (std::holds_alternative<FlattenFields>(spec)) {
      all = bounded_sum(all, bounded_sum(bounded_product(kGrowing * 32, next / 5 + 1), next));
    }
    longest = std::max(longest, next);
  }
  if (list().empty()) return 0;
  // The tokens of a document (eight bytes for each of its own), a copy of it, two buffers that it is written to in
  // turns, an edit of 24 bytes and a match of 32 for each field of five, and texts for what is put in.
  const std::uint64_t least = std::max<std::uint64_t>(longest, std::uint64_t{8} << 10U);
  all = bounded_sum(all, bounded_product(8, least));
  all = bounded_sum(all, bounded_product(4 * kGrowing, longest));
  return bounded_sum(all, bounded_product(kGrowing * (24 + 32) / 5, longest));
}

}  // namespace ops
}  // namespace millrace
