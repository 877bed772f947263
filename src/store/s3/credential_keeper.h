// SPDX-License-Identifier: Apache-2.0
// CredentialKeeper: the credentials in use: fetched once for all requests, renewed ahead of their end, kept while they
// are valid although a renewal fails, and renewed once when the server refuses them. Lives on the loop thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "millrace/base/log.h"
#include "millrace/base/result.h"
#include "millrace/base/time.h"
#include "store/s3/credentials.h"

namespace millrace::s3 {

/// One set of credentials and which it is: 1 for the first, one more with each renewal.
struct CredentialIssue {
  std::shared_ptr<const Credentials> credentials;
  std::uint64_t generation = 0;
};

class CredentialKeeper {
 public:
  using Waiter = std::move_only_function<void(Result<CredentialIssue>)>;
  struct Thread {
    std::function<void(std::move_only_function<void()>)> post;                 ///< runs it on the loop thread, soon
    std::function<void(SteadyTime, std::move_only_function<void()>)> call_at;  ///< runs it there at that time
    std::function<SteadyTime()> now;
  };
  CredentialKeeper(std::shared_ptr<CredentialSource> source, Clock& clock, Logger log, Thread thread);
  ~CredentialKeeper();
  CredentialKeeper(const CredentialKeeper&) = delete;
  CredentialKeeper& operator=(const CredentialKeeper&) = delete;

  /// Answers within the call when credentials are at hand, else when they have been fetched. At most ten seconds go by
  /// before a first answer.
  void get(Waiter waiter);
  /// The server refused this generation: answers with a later one, or fails when there is none to be had.
  void renew_after_refusal(std::uint64_t refused, Waiter waiter);
  [[nodiscard]] bool refreshable() const { return source_->refreshable(); }

 private:
  void wait_for_fetch(Waiter waiter);
  void fetch();
  void fetched(std::uint64_t round, Result<Credentials> result);
  void no_answer(std::uint64_t round);
  void answer_waiters(const Result<CredentialIssue>& result);
  [[nodiscard]] Error no_answer_error() const;
  [[nodiscard]] bool expired() const;
  [[nodiscard]] bool renewal_due() const;

  const std::shared_ptr<CredentialSource> source_;
  Clock& clock_;
  const Logger log_;
  const Thread thread_;
  CredentialIssue current_;
  UnixMicros fetched_at_ = 0;
  UnixMicros next_try_ = INT64_MIN;  // a failed renewal is not repeated before
  bool fetching_ = false;
  bool overdue_ = false;  // the fetch under way has not answered in time
  std::uint64_t round_ = 0;
  std::vector<Waiter> waiters_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // what is posted after the end finds it gone
};

}  // namespace millrace::s3
