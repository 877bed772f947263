// SPDX-License-Identifier: Apache-2.0
// FilterFieldsStep: filter_fields. Lane thread.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "ops/transforms/drop_fields.h"
#include "ops/transforms/regex.h"
#include "ops/transforms/same_value.h"

namespace millrace::transforms {

class FilterFieldsStep {
 public:
  /// Fails (config).
  [[nodiscard]] static Result<FilterFieldsStep> make(const ops::FilterFields& spec);
  [[nodiscard]] Effect apply(const Document& document, RunContext& context, Edits& edits);
  /// How many regexes it holds.
  [[nodiscard]] static std::size_t regexes(const ops::FilterFields& spec);

 private:
  struct Pattern {
    ops::FieldPattern spec;
    std::optional<Regex> key_regex;
    std::optional<Regex> value_regex;
    std::unique_ptr<Document> equals;  ///< of spec.value->text
  };

  void find(const Document& document, Token object, std::size_t depth, Edits& edits);
  void filter(const Document& document, Token object, Edits& edits);
  [[nodiscard]] bool meets(const Document& document, const Member& member, const Pattern& pattern);
  [[nodiscard]] bool key_meets(std::string_view key, const Pattern& pattern) const;
  [[nodiscard]] bool value_meets(const Document& document, const Member& member, const Pattern& pattern);

  FieldPath at_;
  bool include_ = true;
  std::optional<KeepFields> keep_;
  std::vector<Pattern> patterns_;
  TextScratch scratch_;
  static const PathTree::Node kNoPaths;
};

}  // namespace millrace::transforms
