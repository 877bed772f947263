// SPDX-License-Identifier: Apache-2.0
// Schema<Options>, included by schema.h only.
#pragma once

#include "millrace/config/schema.h"

namespace millrace {

/// A schema is built once (a function-local static) and is immutable and thread-safe afterwards.
template <class Options>
class Schema {
 public:
  Schema(std::string name, std::string summary) { description_ = {std::move(name), std::move(summary), {}}; }

  template <class T>
  Schema& required(std::string name, T Options::* member, std::string meaning, OptionNotes notes = {}) {
    return add(std::move(name), member, std::move(meaning), std::move(notes), true);
  }
  template <class T>
  Schema& optional(std::string name, T Options::* member, std::string meaning, OptionNotes notes = {}) {
    return add(std::move(name), member, std::move(meaning), std::move(notes), false);
  }
  template <class T>
  Schema& nested(std::string name, T Options::* member, Schema<T> schema, std::string meaning, bool required = false);
  /// A rule over the whole struct, run after every key was read without a problem.
  Schema& check(std::function<void(const Options&, const ConfigSection& at, ConfigProblems& problems)> rule) {
    rules_.push_back(std::move(rule));
    return *this;
  }

  /// Strict: unknown keys, wrong types, values out of range, missing required keys; all problems together.
  [[nodiscard]] Result<Options> parse(const ConfigSection& at) const {
    ConfigProblems problems;
    Options options = parse_into(at, problems);
    if (auto result = problems.result(); !result) return fail(std::move(result).error());
    return options;
  }
  [[nodiscard]] Options parse_into(const ConfigSection& at, ConfigProblems& problems) const;
  [[nodiscard]] const ComponentDescription& description() const noexcept { return description_; }

 private:
  template <class T>
  Schema& add(std::string name, T Options::* member, std::string meaning, OptionNotes notes, bool required);

  ComponentDescription description_;
  std::vector<std::function<void(const ConfigSection& child, const OptionDescription&, Options&, ConfigProblems&)>>
      readers_;
  std::vector<std::function<void(const Options&, const ConfigSection&, ConfigProblems&)>> rules_;
};

}  // namespace millrace
