// SPDX-License-Identifier: Apache-2.0
// HiddenSecrets: what no message may repeat of what a server says: the credentials in use, those before them, whose
// answers may still come, and what else was given in confidence. Any thread.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/sync.h"
#include "store/s3/credentials.h"

namespace millrace::s3 {

/// Replaces every `secret` in `text` by "***"; an empty one hides nothing.
void hide(std::string& text, std::string_view secret);

class HiddenSecrets {
 public:
  /// `fixed`: beside the credentials, longest first.
  explicit HiddenSecrets(std::vector<std::string> fixed) : fixed_(std::move(fixed)) {}

  /// From here on these sign.
  void use(std::shared_ptr<const Credentials> credentials);
  /// Replaces each by "***".
  void hide(std::string& text) const;

 private:
  // A call is repeated at once with renewed ones, so an answer is at most a generation old, or two where they are
  // renewed again meanwhile.
  static constexpr std::size_t kGenerations = 3;

  const std::vector<std::string> fixed_;
  mutable Mutex mutex_;
  std::array<std::shared_ptr<const Credentials>, kGenerations> used_ MILLRACE_GUARDED_BY(mutex_);  // newest first
};

}  // namespace millrace::s3
