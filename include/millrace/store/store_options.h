// SPDX-License-Identifier: Apache-2.0
// StoreOptions: the `store:` string map (region, endpoint, credentials, timeouts ...), checked name by name before
// anything is opened.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/base/time.h"

#pragma GCC visibility push(default)
namespace millrace {

/// Option names are accepted with or without `aws_` in front, in any case, with `-` or `_`. Values of secret options
/// appear in no output.
class StoreOptions {
 public:
  StoreOptions() = default;
  /// Refuses by name: unknown options (with the nearest known), options owned by a typed field (bucket, in each of its
  /// spellings), and values that do not parse. All problems in one error.
  [[nodiscard]] static Result<StoreOptions> parse(const std::map<std::string, std::string>& raw);

  [[nodiscard]] bool empty() const noexcept { return values_.empty(); }
  /// By canonical name ("region"); empty when not set.
  [[nodiscard]] std::string_view get(std::string_view canonical_name) const;
  [[nodiscard]] bool has(std::string_view canonical_name) const;
  [[nodiscard]] bool flag(std::string_view canonical_name) const;
  /// Of an option that is a duration ("timeout"); nothing when not set.
  [[nodiscard]] std::optional<Duration> duration(std::string_view canonical_name) const;

  /// One known option, for `millrace describe` and for redaction.
  struct Known {
    std::string_view name;
    std::string_view meaning;
    bool secret = false;
    std::string_view type;          ///< what its text must be: "duration", "true or false" ...
    std::string_view default_text;  ///< a value, or in words; empty when there is none
  };
  [[nodiscard]] static const std::vector<Known>& known();
  /// The canonical name of any spelling; nothing when it is not known.
  [[nodiscard]] static std::optional<std::string_view> canonical_name(std::string_view spelling);

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace millrace
#pragma GCC visibility pop
