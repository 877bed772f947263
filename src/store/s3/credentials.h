// SPDX-License-Identifier: Apache-2.0
// Credentials and where they come from. A value is immutable and shared; the secret parts reach the signer and nothing
// else.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "millrace/base/result.h"
#include "millrace/base/time.h"

namespace millrace::s3 {

struct Credentials {
  std::string access_key_id;
  std::string secret_access_key;
  std::string session_token;
  UnixMicros expires = INT64_MAX;
  std::string provider;  ///< who gave them, for messages: "profile 'prod' in ~/.aws/credentials"
};

/// Gives credentials on request, without keeping them.
class CredentialSource {
 public:
  using Done = std::move_only_function<void(Result<Credentials>)>;
  virtual ~CredentialSource() = default;
  /// Answers once, on any thread or within the call. May be called again only after it has answered.
  virtual void fetch(Done done) = 0;
  /// False when asking again can only give the same (keys from the options).
  [[nodiscard]] virtual bool refreshable() const = 0;
  /// What has been asked so far and what came of it, for the message when nothing answers. Any thread.
  [[nodiscard]] virtual std::string tried() const = 0;
};

/// Keys from the store's options, or from a file that has just been read.
[[nodiscard]] std::shared_ptr<CredentialSource> make_static_credentials(Credentials credentials);

/// What a source answers that nobody has set up; a chain asks the next one. Any other error ends its search: who was
/// named and fails must not be replaced by another identity.
[[nodiscard]] Error not_configured(std::string why);
[[nodiscard]] bool is_not_configured(const Error& error);

}  // namespace millrace::s3
