// SPDX-License-Identifier: Apache-2.0
// Schema: an options struct described once, as data: each key's name, type, default, range, meaning, example. From it
// come the parser, `millrace describe`, the reference page and redaction, so they cannot drift. Defaults are those of a
// default-made struct, so options made in code and in YAML are equal.
//
//   static const Schema<S3SourceOptions> schema = [] {
//     Schema<S3SourceOptions> s("s3", "Bounded backfill of a bucket prefix");
//     s.required("url", &S3SourceOptions::url, "Bucket and prefix to read.", {.example = "s3://bucket/exports/"});
//     s.optional("lanes", &S3SourceOptions::lanes, "Worker lanes; fixed for the life of a checkpoint.", {.min = 1, .max
//     = 4096}); s.nested("checkpoint", &S3SourceOptions::checkpoint, checkpoint_schema(), "Where progress is kept.",
//     required); s.check([](const S3SourceOptions& o, const ConfigSection& at, ConfigProblems& problems) { ... });
//     return s;
//   }();
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "millrace/config/config.h"
#include "millrace/config/values.h"

#pragma GCC visibility push(default)
namespace millrace {

/// One key, described for people and machines.
struct OptionDescription {
  std::string name;
  std::vector<std::string> aliases;
  std::string type;  ///< "string", "integer", "bytes", "duration", "boolean", "one of a|b", "map", "list", "section"
  std::string default_text;  ///< as one would write it; empty when there is none
  std::string range;         ///< "1 to 4096"; empty when any
  std::string meaning;
  std::string example;
  bool required = false;
  bool secret = false;
  std::vector<std::string> choices;  ///< every name that is accepted, for a choice
  std::optional<double> min;         ///< as in OptionNotes
  std::optional<double> max;
  std::vector<OptionDescription> nested;  ///< of a section
  bool any_form = false;                  ///< a scalar or a mapping, as `type` says (OptionForm)
};

/// A component's keys, in the order of the page.
struct ComponentDescription {
  std::string name;
  std::string summary;
  std::vector<OptionDescription> options;
};

/// What may be said of a key beside its meaning.
struct OptionNotes {
  // Each with an initialiser, so that a designated one may leave the others out without a warning.
  std::string example = {};
  std::optional<double> min = {};  ///< numbers, bytes (in bytes), durations (in seconds)
  std::optional<double> max = {};
  std::vector<std::string> aliases = {};
  bool secret = false;
  std::string default_text = {};  ///< what the default means, where its value alone does not tell: "as many as cores"
};

/// Specialise for an enum: `static constexpr std::pair<std::string_view, E> names[]`, the first name of a value being
/// the one shown. Names are matched without regard to case.
template <class E>
struct EnumNames;

/// Specialise for a key's type that has a form of its own, such as a word or a mapping of one key:
/// `static std::string type()` for the page ("earliest|{offset: N}"), `static std::string text(const T&)` for a
/// default, `static void read(const ConfigSection& at, T& out, ConfigProblems& problems)`.
template <class T>
struct OptionForm;
template <class T>
concept HasOptionForm = requires { OptionForm<T>::type(); };

/// Reads one scalar, list or map into `out`; adds what is wrong to `problems`. The types a key may have: bool,
/// integers, double, std::string, ByteSize, Duration, Secret, enums with EnumNames, std::vector<std::string>,
/// std::map<std::string, std::string>, what has an OptionForm, std::optional of these.
struct OptionReader {
  static void read(const ConfigSection& at, const OptionDescription& option, const OptionNotes& notes, bool& out,
                   ConfigProblems& problems);
  static void read(const ConfigSection& at, const OptionDescription& option, const OptionNotes& notes,
                   std::int64_t& out, ConfigProblems& problems);
  static void read(const ConfigSection& at, const OptionDescription& option, const OptionNotes& notes,
                   std::uint64_t& out, ConfigProblems& problems);
  static void read(const ConfigSection& at, const OptionDescription& option, const OptionNotes& notes, double& out,
                   ConfigProblems& problems);
  static void read(const ConfigSection& at, const OptionDescription& option, const OptionNotes& notes, std::string& out,
                   ConfigProblems& problems);
  static void read(const ConfigSection& at, const OptionDescription& option, const OptionNotes& notes, ByteSize& out,
                   ConfigProblems& problems);
  static void read(const ConfigSection& at, const OptionDescription& option, const OptionNotes& notes, Duration& out,
                   ConfigProblems& problems);
  static void read(const ConfigSection& at, const OptionDescription& option, const OptionNotes& notes, Secret& out,
                   ConfigProblems& problems);
  static void read(const ConfigSection& at, const OptionDescription& option, const OptionNotes& notes,
                   std::vector<std::string>& out, ConfigProblems& problems);
  static void read(const ConfigSection& at, const OptionDescription& option, const OptionNotes& notes,
                   std::map<std::string, std::string>& out, ConfigProblems& problems);
  /// The index of the choice, or nothing after a problem was added.
  static std::optional<std::size_t> read_choice(const ConfigSection& at, const OptionDescription& option,
                                                ConfigProblems& problems);
  /// Checks that `at` is a mapping and holds only names that `options` know (aliases included), once each; names the
  /// nearest known key.
  /// `reserved` are names that are refused with a reason of their own.
  static void check_keys(const ConfigSection& at, const std::vector<OptionDescription>& options,
                         ConfigProblems& problems, const std::map<std::string, std::string>& reserved = {});
  static void missing(const ConfigSection& parent, const OptionDescription& option, ConfigProblems& problems);
  /// True when the child is there; otherwise false, after a problem was added if it is required.
  static bool present(const ConfigSection& parent, const ConfigSection& child, const OptionDescription& option,
                      ConfigProblems& problems);
  /// The child under its name or one of its aliases.
  static ConfigSection child(const ConfigSection& parent, const OptionDescription& option);
};

/// How a default is written in a file. Empty for what has no value.
struct OptionText {
  static std::string of(bool value);
  static std::string of(std::int64_t value);
  static std::string of(std::uint64_t value);
  static std::string of(double value);
  static std::string of(const std::string& value);
  static std::string of(ByteSize value);
  static std::string of(Duration value);
  static std::string of(const Secret& value);
  static std::string of(const std::vector<std::string>& value);
  static std::string of(const std::map<std::string, std::string>& value);
  /// "1 to 4096", "at least 100ms", or empty.
  static std::string range(std::string_view type, std::optional<double> min, std::optional<double> max);
};

}  // namespace millrace
#pragma GCC visibility pop

#include "millrace/config/schema_impl.h"  // IWYU pragma: keep: class Schema<Options>
