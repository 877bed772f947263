// SPDX-License-Identifier: Apache-2.0
#include "tests/s3_fault_server/credential_mint.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <utility>

namespace millrace::testing {

Result<std::unique_ptr<CredentialMint>> CredentialMint::start(FaultServer& server, Duration lifetime) {
  std::unique_ptr<CredentialMint> mint(new CredentialMint(server, lifetime));
  CredentialMint* raw = mint.get();
  MILLRACE_ASSIGN(mint->listener_, HttpListener::start({}, [raw](const HttpRequest&) { return raw->answer(); }));
  return mint;
}

void CredentialMint::be_down(UnixMicros after, Duration length) {
  const MutexLock lock(mutex_);
  down_after_ = after;
  down_for_ = length;
}

HttpAnswer CredentialMint::answer() {
  const UnixMicros now = server_.now();
  HttpAnswer answer;
  answer.set_header("Content-Type", "application/json");
  {
    const MutexLock lock(mutex_);
    if (now >= down_after_) {
      down_after_ = INT64_MAX;
      down_until_ = now + std::chrono::duration_cast<std::chrono::microseconds>(down_for_).count();
    }
    if (now < down_until_) {
      refused_.fetch_add(1);
      answer.status = 500;
      answer.set_body("{\"message\":\"down\"}");
      return answer;
    }
  }
  const std::uint64_t number = answered_.fetch_add(1) + 1;
  const std::string key = fmt::format("AKMINT{:06}", number);
  const std::string secret = fmt::format("mint-secret/{}", number);
  const std::string token = fmt::format("mint-token-{}==", number);
  const auto end = std::chrono::floor<std::chrono::seconds>(std::chrono::microseconds(now) + lifetime_);
  server_.accept_credentials(key, secret, token, std::chrono::microseconds(end).count());
  answer.set_body(
      fmt::format(R"({{"AccessKeyId":"{}","SecretAccessKey":"{}","Token":"{}","Expiration":"{:%Y-%m-%dT%H:%M:%SZ}"}})",
                  key, secret, token, fmt::gmtime(static_cast<std::time_t>(end.count()))));
  return answer;
}

}  // namespace millrace::testing
