// SPDX-License-Identifier: Apache-2.0
#include "ops/transforms/filter_fields.h"

#include <algorithm>
#include <utility>

#include "millrace/base/utf8.h"
#include "millrace/decode/json_checker.h"
#include "ops/transforms/number_order.h"

namespace millrace::transforms {
namespace {

using KeyKind = ops::TextPattern::Kind;
using ValueKind = ops::ValuePattern::Kind;

bool orders(ValueKind kind) noexcept {
  return kind == ValueKind::greater_than || kind == ValueKind::less_than || kind == ValueKind::between;
}

Result<void> check_number(std::string_view text) {
  JsonChecker checker;
  decode::Json json;
  if (!text.empty() && begins_number(text.front()) && checker.check(text, 0, json)) return {};
  return fail(Error::config("greater_than, less_than and between compare with numbers as JSON spells them"));
}

}  // namespace

Result<FilterFieldsStep> FilterFieldsStep::make(const ops::FilterFields& spec) {
  FilterFieldsStep step;
  step.at_ = spec.at;
  step.include_ = spec.include_matching;
  if (!spec.keep_fields.empty()) {
    MILLRACE_ASSIGN(step.keep_, KeepFields::make(spec.keep_fields));
  }
  for (const ops::FieldPattern& given : spec.patterns) {
    Pattern pattern{given, {}, {}, {}};
    if (!given.key && !given.value) {
      return fail(Error::config("a pattern has neither key_pattern nor value_pattern; give one"));
    }
    if (given.key) {
      if (first_invalid_utf8(given.key->text) != std::string_view::npos) {
        return fail(Error::config("a key_pattern is not UTF-8"));
      }
      if (given.key->kind == KeyKind::regex) {
        MILLRACE_ASSIGN(pattern.key_regex, Regex::make(given.key->text));
      }
    }
    if (given.value) {
      const ValueKind kind = given.value->kind;
      if (orders(kind)) MILLRACE_TRY(check_number(given.value->text));
      if (kind == ValueKind::between) MILLRACE_TRY(check_number(given.value->above));
      if (kind == ValueKind::regex) {
        MILLRACE_ASSIGN(pattern.value_regex, Regex::make(given.value->text));
      }
      if (kind == ValueKind::equals) {
        pattern.equals = std::make_unique<Document>();
      }
    }
    step.patterns_.push_back(std::move(pattern));
  }
  // Looked at where it stays: the tokens of a small text may lie beside it.
  for (Pattern& pattern : step.patterns_) {
    if (!pattern.equals) continue;
    pattern.equals->reset(pattern.spec.value->text, 0);
    if (!pattern.equals->check()) return fail(Error::config("equals compares with a JSON value, and this is none"));
  }
  return step;
}

std::size_t FilterFieldsStep::regexes(const ops::FilterFields& spec) {
  std::size_t count = 0;
  for (const ops::FieldPattern& pattern : spec.patterns) {
    count += static_cast<std::size_t>(pattern.key && pattern.key->kind == KeyKind::regex);
    count += static_cast<std::size_t>(pattern.value && pattern.value->kind == ValueKind::regex);
  }
  return count;
}

Effect FilterFieldsStep::apply(const Document& document, RunContext& /*context*/, Edits& edits) {
  if (!keep_ && patterns_.empty()) return Effect::untouched;
  if (document.is_object(document.root())) find(document, document.root(), 0, edits);
  return edits.empty() ? Effect::untouched : Effect::edited;
}

void FilterFieldsStep::find(const Document& document, Token object, std::size_t depth, Edits& edits) {
  if (depth == at_.names.size()) return filter(document, object, edits);
  document.each_member(object, [&](const Member& member) {
    if (!document.is_object(member.value)) return;
    if (text_of(document, member.key, scratch_.one) == at_.names[depth]) find(document, member.value, depth + 1, edits);
  });
}

const PathTree::Node FilterFieldsStep::kNoPaths;

void FilterFieldsStep::filter(const Document& document, Token object, Edits& edits) {
  const PathTree::Node& listed = keep_ ? keep_->tree().node(0) : kNoPaths;
  if (keep_) keep_->begin(document, object, listed);
  Commas commas(document, edits);
  document.each_member(object, [&](const Member& member) {
    const bool matching =
        std::ranges::any_of(patterns_, [&](const Pattern& pattern) { return meets(document, member, pattern); });
    if (matching == include_) return commas.keep();
    if (keep_) return keep_->field(document, member, listed, commas, edits);
    commas.drop(member);
  });
}

bool FilterFieldsStep::meets(const Document& document, const Member& member, const Pattern& pattern) {
  if (pattern.spec.key && !key_meets(text_of(document, member.key, scratch_.one), pattern)) return false;
  return !pattern.spec.value || value_meets(document, member, pattern);
}

bool FilterFieldsStep::key_meets(std::string_view key, const Pattern& pattern) const {
  const std::string& text = pattern.spec.key->text;
  switch (pattern.spec.key->kind) {
    case KeyKind::exact:
      return key == text;
    case KeyKind::starts_with:
      return key.starts_with(text);
    case KeyKind::ends_with:
      return key.ends_with(text);
    case KeyKind::contains:
      return key.find(text) != std::string_view::npos;
    case KeyKind::regex:
      break;
  }
  return pattern.key_regex->met_in(key);
}

bool FilterFieldsStep::value_meets(const Document& document, const Member& member, const Pattern& pattern) {
  const ops::ValuePattern& wanted = *pattern.spec.value;
  const char first = document.first(member.value);
  const auto text = [&] { return text_of(document, member.value, scratch_.one); };
  const auto number = [&] { return document.tokens().scalar(member.value); };
  switch (wanted.kind) {
    case ValueKind::equals:
      return same_value(document, member.value, *pattern.equals, pattern.equals->root(), scratch_);
    case ValueKind::contains:
      return first == '"' && text().find(wanted.text) != std::string_view::npos;
    case ValueKind::regex:
      return first == '"' && pattern.value_regex->met_in(text());
    case ValueKind::greater_than:
      return begins_number(first) && compare_numbers(number(), wanted.text) > 0;
    case ValueKind::less_than:
      return begins_number(first) && compare_numbers(number(), wanted.text) < 0;
    case ValueKind::between:
      return begins_number(first) && compare_numbers(number(), wanted.text) >= 0 &&
             compare_numbers(number(), wanted.above) <= 0;
    case ValueKind::is_null:
      return first == 'n';
    case ValueKind::is_not_null:
      return first != 'n';
    case ValueKind::is_string:
      return first == '"';
    case ValueKind::is_number:
      return begins_number(first);
    case ValueKind::is_boolean:
      return first == 't' || first == 'f';
    case ValueKind::is_object:
      return first == '{';
    case ValueKind::is_array:
      break;
  }
  return first == '[';
}

}  // namespace millrace::transforms
