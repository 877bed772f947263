// SPDX-License-Identifier: Apache-2.0
// CredentialMint: plays the credentials endpoint of a container for a fault server: each request gets keys of its own,
// which that server takes for a short time. All members: any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "millrace/base/result.h"
#include "millrace/base/sync.h"
#include "millrace/base/time.h"
#include "tests/s3_fault_server/fault_server.h"

namespace millrace::testing {

class CredentialMint {
 public:
  /// `server` outlives the mint. `lifetime` is by the server's clock, in whole seconds.
  [[nodiscard]] static Result<std::unique_ptr<CredentialMint>> start(FaultServer& server, Duration lifetime);

  /// What AWS_CONTAINER_CREDENTIALS_FULL_URI is set to.
  [[nodiscard]] std::string uri() const { return listener_->endpoint() + "/keys"; }
  /// The first request after `after`, by the server's clock, begins an outage: for so long, requests are answered 500.
  void be_down(UnixMicros after, Duration length);
  [[nodiscard]] std::uint64_t answered() const { return answered_.load(); }  ///< with keys
  [[nodiscard]] std::uint64_t refused() const { return refused_.load(); }    ///< with 500

 private:
  CredentialMint(FaultServer& server, Duration lifetime) : server_(server), lifetime_(lifetime) {}
  HttpAnswer answer();

  FaultServer& server_;
  const Duration lifetime_;
  Atomic<std::uint64_t> answered_{0};
  Atomic<std::uint64_t> refused_{0};
  Mutex mutex_;
  UnixMicros down_after_ MILLRACE_GUARDED_BY(mutex_) = INT64_MAX;
  Duration down_for_ MILLRACE_GUARDED_BY(mutex_){0};
  UnixMicros down_until_ MILLRACE_GUARDED_BY(mutex_) = INT64_MIN;
  std::unique_ptr<HttpListener> listener_;  // last: its threads use the rest
};

}  // namespace millrace::testing
