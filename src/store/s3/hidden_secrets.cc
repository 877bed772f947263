// SPDX-License-Identifier: Apache-2.0
#include "store/s3/hidden_secrets.h"

#include <algorithm>
#include <string_view>

namespace millrace::s3 {
namespace {

constexpr std::string_view kHidden = "***";

}  // namespace

void hide(std::string& text, std::string_view secret) {
  if (secret.empty()) return;
  for (auto at = text.find(secret); at != text.npos; at = text.find(secret, at + kHidden.size()))
    text.replace(at, secret.size(), kHidden);
}

void HiddenSecrets::use(std::shared_ptr<const Credentials> credentials) {
  const MutexLock lock(mutex_);
  if (used_.front() == credentials) return;
  std::ranges::rotate(used_, used_.end() - 1);
  used_.front() = std::move(credentials);
}

void HiddenSecrets::hide(std::string& text) const {
  for (const std::string& secret : fixed_) s3::hide(text, secret);
  const MutexLock lock(mutex_);
  for (const auto& used : used_) {
    if (!used) continue;
    for (const auto* secret : {&used->secret_access_key, &used->session_token, &used->access_key_id})
      s3::hide(text, *secret);
  }
}

}  // namespace millrace::s3
