// SPDX-License-Identifier: Apache-2.0
#include "store/s3/credential_chain.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "millrace/base/sync.h"

namespace millrace::s3 {

Error not_configured(std::string why) { return Error::fatal(ErrorCode::not_found, std::move(why)); }
bool is_not_configured(const Error& error) { return error.code() == ErrorCode::not_found; }

namespace {

struct Link {
  std::shared_ptr<CredentialSource> source;
  std::string outcome;  // why it gave nothing
};

class CredentialChain final : public CredentialSource, public std::enable_shared_from_this<CredentialChain> {
 public:
  explicit CredentialChain(std::vector<std::shared_ptr<CredentialSource>> sources) {
    for (auto& source : sources) links_.push_back({std::move(source), ""});
  }

  void fetch(Done done) override {
    std::size_t first = 0;
    {
      const MutexLock lock(mutex_);
      // Another identity must not take over in the middle of a run.
      if (winner_) first = *winner_;
      for (std::size_t i = first; i < links_.size(); ++i) links_[i].outcome.clear();
    }
    ask(first, std::move(done));
  }
  [[nodiscard]] bool refreshable() const override {
    const MutexLock lock(mutex_);
    return !winner_ || links_[*winner_].source->refreshable();
  }
  [[nodiscard]] std::string tried() const override {
    const MutexLock lock(mutex_);
    std::string text;
    for (const Link& link : links_) {
      if (!text.empty()) text += "; ";
      text += fmt::format("{}: {}", link.source->tried(), link.outcome.empty() ? "no answer yet" : link.outcome);
      if (link.outcome.empty()) break;  // the rest has not been asked
    }
    return text;
  }

 private:
  void ask(std::size_t index, Done done) {
    std::shared_ptr<CredentialSource> source;
    {
      const MutexLock lock(mutex_);
      if (index < links_.size()) source = links_[index].source;
    }
    if (!source) {
      done(fail(Error::fatal(ErrorCode::credentials,
                             fmt::format("no credentials found; tried: {}. Set store.access_key_id and "
                                         "store.secret_access_key, or store.skip_signature for a public bucket",
                                         tried()))));
      return;
    }
    source->fetch([chain = shared_from_this(), index, done = std::move(done)](Result<Credentials> found) mutable {
      chain->answered(index, std::move(found), std::move(done));
    });
  }

  void answered(std::size_t index, Result<Credentials> found, Done done) {
    bool ask_next = false;
    {
      const MutexLock lock(mutex_);
      if (found) {
        winner_ = index;
      } else {
        links_[index].outcome = found.error().message();
        ask_next = !winner_ && is_not_configured(found.error());
      }
    }
    if (ask_next) return ask(index + 1, std::move(done));
    if (found) return done(std::move(found));
    const std::string who = fmt::format("no credentials from {}: ", name_of(index));
    const Error& why = found.error();
    done(fail(Error(why.error_class(), ErrorCode::credentials, who + why.message())));
  }

  [[nodiscard]] std::string name_of(std::size_t index) const {
    const MutexLock lock(mutex_);
    return links_[index].source->tried();
  }

  mutable Mutex mutex_;
  std::vector<Link> links_ MILLRACE_GUARDED_BY(mutex_);
  std::optional<std::size_t> winner_ MILLRACE_GUARDED_BY(mutex_);
};

}  // namespace

std::shared_ptr<CredentialSource> make_credential_chain(std::vector<std::shared_ptr<CredentialSource>> sources) {
  return std::make_shared<CredentialChain>(std::move(sources));
}

}  // namespace millrace::s3
