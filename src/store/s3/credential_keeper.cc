// SPDX-License-Identifier: Apache-2.0
#include "store/s3/credential_keeper.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace millrace::s3 {

namespace {

constexpr UnixMicros kSecond = 1'000'000;
constexpr Duration kLongestFetch = std::chrono::seconds(10);
// Renewal begins so long before the end, or a third of the lifetime if that is shorter (tokens of one minute exist).
constexpr UnixMicros kRenewAhead = 300 * kSecond;
// A request signed with a token that ends within this may arrive too late.
constexpr UnixMicros kMargin = 2 * kSecond;
constexpr UnixMicros kPauseAfterFailure = 5 * kSecond;

std::string validity(const Credentials& credentials, UnixMicros now) {
  if (credentials.expires == INT64_MAX) return "no end known";
  return fmt::format("{} s", (credentials.expires - now) / kSecond);
}

class StaticCredentials final : public CredentialSource {
 public:
  explicit StaticCredentials(Credentials credentials) : credentials_(std::move(credentials)) {}
  void fetch(std::move_only_function<void(Result<Credentials>)> done) override { done(credentials_); }
  [[nodiscard]] bool refreshable() const override { return false; }
  [[nodiscard]] std::string tried() const override { return credentials_.provider; }

 private:
  const Credentials credentials_;
};

}  // namespace

std::shared_ptr<CredentialSource> make_static_credentials(Credentials credentials) {
  return std::make_shared<StaticCredentials>(std::move(credentials));
}

CredentialKeeper::CredentialKeeper(std::shared_ptr<CredentialSource> source, Clock& clock, Logger log, Thread thread)
    : source_(std::move(source)), clock_(clock), log_(std::move(log)), thread_(std::move(thread)) {}

CredentialKeeper::~CredentialKeeper() { *alive_ = false; }

bool CredentialKeeper::expired() const { return current_.credentials->expires - kMargin <= clock_.unix_micros(); }

bool CredentialKeeper::renewal_due() const {
  const UnixMicros end = current_.credentials->expires;
  if (end == INT64_MAX || !source_->refreshable()) return false;
  const UnixMicros ahead = std::min(kRenewAhead, (end - fetched_at_) / 3);
  const UnixMicros now = clock_.unix_micros();
  return now >= end - ahead && now >= next_try_;
}

void CredentialKeeper::get(Waiter waiter) {
  if (current_.credentials && !expired()) {
    if (!fetching_ && renewal_due()) fetch();
    waiter(current_);
    return;
  }
  wait_for_fetch(std::move(waiter));
}

void CredentialKeeper::wait_for_fetch(Waiter waiter) {
  if (fetching_ && overdue_) {
    waiter(fail(no_answer_error()));
    return;
  }
  waiters_.push_back(std::move(waiter));
  if (!fetching_) fetch();
}

void CredentialKeeper::renew_after_refusal(std::uint64_t refused, Waiter waiter) {
  if (current_.generation > refused && !expired()) {
    waiter(current_);
    return;
  }
  if (!source_->refreshable()) {
    waiter(fail(
        Error::fatal(ErrorCode::credentials, fmt::format("credentials from {} cannot be renewed", source_->tried()))));
    return;
  }
  wait_for_fetch(std::move(waiter));
}

void CredentialKeeper::fetch() {
  fetching_ = true;
  overdue_ = false;
  const std::uint64_t round = ++round_;
  thread_.call_at(thread_.now() + kLongestFetch, [this, round, alive = alive_] {
    if (*alive) no_answer(round);
  });
  source_->fetch([this, round, alive = alive_, post = thread_.post](Result<Credentials> result) mutable {
    post([this, round, alive = std::move(alive), result = std::move(result)]() mutable {
      if (*alive) fetched(round, std::move(result));
    });
  });
}

void CredentialKeeper::fetched(std::uint64_t round, Result<Credentials> result) {
  if (round != round_) return;
  fetching_ = false;
  const UnixMicros now = clock_.unix_micros();
  if (result) {
    const bool changed = !current_.credentials || result->access_key_id != current_.credentials->access_key_id ||
                         result->secret_access_key != current_.credentials->secret_access_key ||
                         result->session_token != current_.credentials->session_token;
    if (changed) {
      log_.info(current_.generation == 0 ? "credentials found" : "credentials renewed",
                {{"provider", result->provider}, {"valid_for", validity(*result, now)}});
    }
    current_ = {std::make_shared<const Credentials>(*std::move(result)), current_.generation + (changed ? 1 : 0)};
    fetched_at_ = now;
    next_try_ = now + kPauseAfterFailure;
    answer_waiters(current_);
    return;
  }
  next_try_ = now + kPauseAfterFailure;
  if (!current_.credentials) return answer_waiters(fail(std::move(result).error()));
  log_.warn("credentials could not be renewed; the old ones stay in use while they are valid",
            {{"reason", result.error().message()}});
  answer_waiters(fail(std::move(result).error().as(ErrorClass::retryable)));
}

void CredentialKeeper::no_answer(std::uint64_t round) {
  if (round != round_ || !fetching_) return;
  // The late answer is still welcome: the round goes on, only the waiters are told.
  overdue_ = true;
  answer_waiters(fail(no_answer_error()));
}

Error CredentialKeeper::no_answer_error() const {
  const auto cls = current_.credentials ? ErrorClass::retryable : ErrorClass::fatal;
  return {
      cls, ErrorCode::credentials,
      fmt::format("no credentials within {} s; tried: {}", kLongestFetch / std::chrono::seconds(1), source_->tried())};
}

void CredentialKeeper::answer_waiters(const Result<CredentialIssue>& result) {
  auto waiters = std::exchange(waiters_, {});
  for (auto& waiter : waiters) waiter(result);
}

}  // namespace millrace::s3
