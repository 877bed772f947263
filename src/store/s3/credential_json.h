// SPDX-License-Identifier: Apache-2.0
// The small JSON objects that credentials come in. Foreign bytes: what is missing or of another type reads as empty.
// Messages never quote them, since they hold secrets.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/base/time.h"

struct aws_json_value;

namespace millrace::s3 {

class CredentialJson {
 public:
  /// Nothing when the text is no JSON object.
  [[nodiscard]] static std::optional<CredentialJson> parse(std::string_view text);
  [[nodiscard]] std::string text(std::string_view name) const;
  [[nodiscard]] std::optional<double> number(std::string_view name) const;
  [[nodiscard]] std::optional<CredentialJson> object(std::string_view name) const;

 private:
  explicit CredentialJson(std::shared_ptr<aws_json_value> value) : value_(std::move(value)) {}
  std::shared_ptr<aws_json_value> value_;  // shares the document's life
};

/// The object with these members, in the place of those of the same name; the rest stays. `object` is one.
[[nodiscard]] std::string with_texts(std::string_view object,
                                     const std::vector<std::pair<std::string_view, std::string>>& members);

/// "2026-01-31T12:00:00Z", also with an offset ("+00:00") or "UTC" at the end, as some programs write it.
[[nodiscard]] std::optional<UnixMicros> credential_time(std::string_view text);

}  // namespace millrace::s3
