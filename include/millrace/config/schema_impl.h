// SPDX-License-Identifier: Apache-2.0
// Schema<Options>, included by schema.h only.
#pragma once

#include <limits>

#include "millrace/config/schema.h"

#pragma GCC visibility push(default)
namespace millrace {

namespace config_detail {

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

template <class E>
[[nodiscard]] std::string_view name_of(E value) {
  for (const auto& [name, known] : EnumNames<E>::names) {
    if (known == value) return name;
  }
  return {};
}

/// What a key's type adds to its description: the type's name, choices, default.
template <class T>
void describe_type(const T& value, OptionDescription& option) {
  if constexpr (kIsOptional<T>) {
    using Inner = typename T::value_type;
    describe_type<Inner>(value ? *value : Inner{}, option);
    if (!value) option.default_text.clear();
  } else if constexpr (HasOptionForm<T>) {
    option.type = OptionForm<T>::type();
    option.any_form = true;
    option.default_text = OptionForm<T>::text(value);
  } else if constexpr (std::is_enum_v<T>) {
    option.type = "one of ";
    for (const auto& [name, known] : EnumNames<T>::names) {
      option.choices.emplace_back(name);
      if (name_of(known) != name) continue;  // a second name of the same value
      if (option.choices.size() > 1) option.type += '|';
      option.type += name;
    }
    option.default_text = name_of(value);
  } else if constexpr (std::is_same_v<T, bool>) {
    option.type = "boolean";
    option.default_text = OptionText::of(value);
  } else if constexpr (std::signed_integral<T>) {
    option.type = "integer";
    option.default_text = OptionText::of(static_cast<std::int64_t>(value));
  } else if constexpr (std::unsigned_integral<T>) {
    option.type = "integer";
    option.default_text = OptionText::of(static_cast<std::uint64_t>(value));
  } else {
    if constexpr (std::is_same_v<T, double>) {
      option.type = "number";
    } else if constexpr (std::is_same_v<T, std::string>) {
      option.type = "string";
    } else if constexpr (std::is_same_v<T, ByteSize>) {
      option.type = "bytes";
    } else if constexpr (std::is_same_v<T, Duration>) {
      option.type = "duration";
    } else if constexpr (std::is_same_v<T, Secret>) {
      option.type = "string";
      option.secret = true;
    } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
      option.type = "list";
    } else {
      static_assert(std::is_same_v<T, std::map<std::string, std::string>>, "a key cannot have this type");
      option.type = "map";
    }
    option.default_text = OptionText::of(value);
  }
}

template <class T>
void read_value(const ConfigSection& at, const OptionDescription& option, const OptionNotes& notes, T& out,
                ConfigProblems& problems) {
  if constexpr (kIsOptional<T>) {
    typename T::value_type value{};
    read_value(at, option, notes, value, problems);
    out = std::move(value);
  } else if constexpr (HasOptionForm<T>) {
    OptionForm<T>::read(at, out, problems);
  } else if constexpr (std::is_enum_v<T>) {
    if (const auto index = OptionReader::read_choice(at, option, problems)) {
      out = std::data(EnumNames<T>::names)[*index].second;
    }
  } else if constexpr (std::integral<T> && !std::is_same_v<T, bool>) {
    using Wide = std::conditional_t<std::signed_integral<T>, std::int64_t, std::uint64_t>;
    Wide value = static_cast<Wide>(out);
    const std::size_t before = problems.count();
    if constexpr (sizeof(T) < sizeof(Wide)) {
      OptionNotes limits = notes;
      if (!limits.min) limits.min = static_cast<double>(std::numeric_limits<T>::min());
      if (!limits.max) limits.max = static_cast<double>(std::numeric_limits<T>::max());
      OptionReader::read(at, option, limits, value, problems);
    } else {
      OptionReader::read(at, option, notes, value, problems);
    }
    if (problems.count() == before) out = static_cast<T>(value);
  } else {
    OptionReader::read(at, option, notes, out, problems);
  }
}

}  // namespace config_detail

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
  /// A section with a schema of its own. Its required keys are asked for only when the section is there.
  template <class T>
  Schema& nested(std::string name, T Options::* member, Schema<T> schema, std::string meaning, bool required = false) {
    return add_section(std::move(name), schema.description(), std::move(meaning), required,
                       [member, schema](const ConfigSection& at, Options& out, ConfigProblems& problems) {
                         out.*member = schema.parse_into(at, problems, std::move(out.*member));
                       });
  }
  template <class T>
  Schema& nested(std::string name, std::optional<T> Options::* member, Schema<T> schema, std::string meaning,
                 bool required = false) {
    return add_section(std::move(name), schema.description(), std::move(meaning), required,
                       [member, schema](const ConfigSection& at, Options& out, ConfigProblems& problems) {
                         out.*member = schema.parse_into(at, problems, (out.*member).value_or(T{}));
                       });
  }
  /// A name that is no key (yet): refused with `why` instead of as unknown.
  Schema& reserve(std::string name, std::string why) {
    reserved_.emplace(std::move(name), std::move(why));
    return *this;
  }
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
  /// `defaults` is what keys that are not given keep.
  [[nodiscard]] Options parse_into(const ConfigSection& at, ConfigProblems& problems,
                                   Options defaults = Options{}) const {
    Options out = std::move(defaults);
    const std::size_t before = problems.count();
    OptionReader::check_keys(at, description_.options, problems, reserved_);
    if (at.kind() != ConfigSection::Kind::mapping) return out;
    for (std::size_t i = 0; i < readers_.size(); ++i) {
      const OptionDescription& option = description_.options[i];
      const ConfigSection child = OptionReader::child(at, option);
      if (OptionReader::present(at, child, option, problems)) readers_[i](child, option, out, problems);
    }
    if (problems.count() != before) return out;
    for (const auto& rule : rules_) rule(out, at, problems);
    return out;
  }
  [[nodiscard]] const ComponentDescription& description() const noexcept { return description_; }

 private:
  template <class T>
  Schema& add(std::string name, T Options::* member, std::string meaning, OptionNotes notes, bool required) {
    OptionDescription option;
    option.name = std::move(name);
    option.meaning = std::move(meaning);
    option.required = required;
    option.secret = notes.secret;
    option.example = notes.example;
    option.aliases = notes.aliases;
    option.min = notes.min;
    option.max = notes.max;
    config_detail::describe_type<T>(Options{}.*member, option);
    if (!notes.default_text.empty()) option.default_text = notes.default_text;
    if (required) option.default_text.clear();
    option.range = OptionText::range(option.type, option.min, option.max);
    description_.options.push_back(std::move(option));
    readers_.emplace_back([member, notes = std::move(notes)](const ConfigSection& at, const OptionDescription& known,
                                                             Options& out, ConfigProblems& problems) {
      config_detail::read_value(at, known, notes, out.*member, problems);
    });
    return *this;
  }

  template <class Read>
  Schema& add_section(std::string name, const ComponentDescription& inner, std::string meaning, bool required,
                      Read read) {
    OptionDescription option;
    option.name = std::move(name);
    option.type = "section";
    option.meaning = std::move(meaning);
    option.required = required;
    option.nested = inner.options;
    description_.options.push_back(std::move(option));
    readers_.emplace_back([read = std::move(read)](const ConfigSection& at, const OptionDescription&, Options& out,
                                                   ConfigProblems& problems) { read(at, out, problems); });
    return *this;
  }

  ComponentDescription description_;
  std::map<std::string, std::string> reserved_;
  std::vector<std::function<void(const ConfigSection& child, const OptionDescription&, Options&, ConfigProblems&)>>
      readers_;
  std::vector<std::function<void(const Options&, const ConfigSection&, ConfigProblems&)>> rules_;
};

}  // namespace millrace
#pragma GCC visibility pop
