// SPDX-License-Identifier: Apache-2.0
// What the tests of credentials share: an environment without any, and small servers that play those who give them.
#pragma once

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "millrace/base/sync.h"
#include "tests/s3_fault_server/http_listener.h"
#include "tests/s3_fault_server/sigv4_check.h"
#include "tests/s3_fault_server/uri.h"
#include "tests/s3_store/fixture.h"

namespace millrace::s3::testing {

/// Takes the AWS_* variables out of the environment for one test, and gives it a home folder without any files.
class CleanEnvironment {
 public:
  CleanEnvironment() {
    for (const char* name : {"AWS_ACCESS_KEY_ID",
                             "AWS_SECRET_ACCESS_KEY",
                             "AWS_SESSION_TOKEN",
                             "AWS_PROFILE",
                             "AWS_REGION",
                             "AWS_DEFAULT_REGION",
                             "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
                             "AWS_CONTAINER_CREDENTIALS_FULL_URI",
                             "AWS_CONTAINER_AUTHORIZATION_TOKEN",
                             "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
                             "AWS_WEB_IDENTITY_TOKEN_FILE",
                             "AWS_ROLE_ARN",
                             "AWS_ROLE_SESSION_NAME",
                             "AWS_EC2_METADATA_SERVICE_ENDPOINT",
                             "AWS_ENDPOINT_URL",
                             "AWS_ENDPOINT_URL_S3",
                             "AWS_ENDPOINT_URL_STS",
                             "AWS_ENDPOINT_URL_SSO",
                             "AWS_ENDPOINT_URL_SSO_OIDC",
                             "AWS_CONFIG_FILE",
                             "AWS_SHARED_CREDENTIALS_FILE"}) {
      unset(name);
    }
    char name[] = "/tmp/millrace-aws-XXXXXX";
    home_ = ::mkdtemp(name);
    std::filesystem::create_directories(home_ + "/.aws/sso/cache");
    set("HOME", home_);
    set("AWS_EC2_METADATA_DISABLED", "true");
  }
  ~CleanEnvironment() {
    for (const auto& [name, before] : before_) {
      if (before) {
        ::setenv(name.c_str(), before->c_str(), 1);
      } else {
        ::unsetenv(name.c_str());
      }
    }
    std::filesystem::remove_all(home_);
  }
  CleanEnvironment(const CleanEnvironment&) = delete;
  CleanEnvironment& operator=(const CleanEnvironment&) = delete;

  void set(const std::string& name, const std::string& value) {
    keep(name);
    ::setenv(name.c_str(), value.c_str(), 1);
  }
  void unset(const std::string& name) {
    keep(name);
    ::unsetenv(name.c_str());
  }
  /// A file of the home folder: ".aws/config". Gives its path.
  [[nodiscard]] std::string path(const std::string& name) const { return home_ + "/" + name; }
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }

 private:
  void keep(const std::string& name) {
    const char* value = std::getenv(name.c_str());
    before_.emplace(name, value == nullptr ? std::nullopt : std::optional<std::string>(value));
  }
  std::string home_;
  std::map<std::string, std::optional<std::string>> before_;
};

inline std::string time_in(std::chrono::seconds ahead) {
  const auto then = std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now()) + ahead;
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(then));
}

/// Answers as it is told, and notes what it was asked. `reply` gets the number of the request, from 0.
class NotingEndpoint {
 public:
  using Request = millrace::testing::HttpRequest;
  using Answer = millrace::testing::HttpAnswer;
  NotingEndpoint(std::function<std::string(const Request&)> note,
                 std::function<Answer(const Request&, std::size_t)> reply) {
    listener_ = *millrace::testing::HttpListener::start(
        {}, [this, note = std::move(note), reply = std::move(reply)](const Request& request) {
          const MutexLock lock(mutex_);
          seen_.push_back(note(request));
          return reply(request, seen_.size() - 1);
        });
  }
  [[nodiscard]] std::string endpoint() const { return listener_->endpoint(); }
  [[nodiscard]] std::vector<std::string> seen() const {
    const MutexLock lock(mutex_);
    return seen_;
  }

 private:
  mutable Mutex mutex_;
  std::vector<std::string> seen_ MILLRACE_GUARDED_BY(mutex_);
  std::unique_ptr<millrace::testing::HttpListener> listener_;  // last: its thread uses what stands above
};

/// Plays ECS: a JSON document with the keys that are set at the moment.
class ContainerEndpoint {
 public:
  ContainerEndpoint() {
    using millrace::testing::HttpAnswer;
    listener_ = *millrace::testing::HttpListener::start({}, [this](const millrace::testing::HttpRequest& request) {
      const MutexLock lock(mutex_);
      requests_.push_back(request);
      HttpAnswer answer;
      answer.status = status_;
      answer.set_header("Content-Type", "application/json");
      answer.set_body(document_);
      return answer;
    });
  }
  void set(const std::string& key, const std::string& secret, const std::string& token, std::chrono::seconds lifetime) {
    const MutexLock lock(mutex_);
    document_ =
        fmt::format("{{\"AccessKeyId\":\"{}\",\"SecretAccessKey\":\"{}\",\"Token\":\"{}\",\"Expiration\":\"{}\"}}", key,
                    secret, token, time_in(lifetime));
  }
  void set_status(int status) {
    const MutexLock lock(mutex_);
    status_ = status;
  }
  [[nodiscard]] int asked() const {
    const MutexLock lock(mutex_);
    return static_cast<int>(requests_.size());
  }
  [[nodiscard]] millrace::testing::HttpRequest last() const {
    const MutexLock lock(mutex_);
    return requests_.back();
  }
  [[nodiscard]] std::string endpoint() const { return listener_->endpoint(); }
  [[nodiscard]] std::string uri() const { return endpoint() + "/role"; }

 private:
  mutable Mutex mutex_;
  std::string document_ MILLRACE_GUARDED_BY(mutex_);
  int status_ MILLRACE_GUARDED_BY(mutex_) = 200;
  std::vector<millrace::testing::HttpRequest> requests_ MILLRACE_GUARDED_BY(mutex_);
  std::unique_ptr<millrace::testing::HttpListener> listener_;
};

/// Plays the instance: version 2 wants a token of its own first.
class InstanceMetadata : public NotingEndpoint {
 public:
  InstanceMetadata(int token_status, const std::string& keys)
      : NotingEndpoint(
            [](const Request& request) {
              return fmt::format("{} {} {}", request.method, request.target,
                                 request.header("x-aws-ec2-metadata-token"));
            },
            [token_status, keys](const Request& request, std::size_t /*number*/) {
              Answer answer;
              if (request.method == "PUT") {
                answer.status = token_status;
                answer.set_body(token_status == 200 ? "imds-token" : "");
              } else if (token_status == 200 && request.header("x-aws-ec2-metadata-token") != "imds-token") {
                answer.status = 401;
              } else {
                answer.set_body(request.target.ends_with("/security-credentials/") ? "the-role" : keys);
              }
              return answer;
            }) {}
};

/// Plays STS: checks the signature of AssumeRole from the raw request, and gives the keys that are set.
class FakeSts {
 public:
  struct Keys {
    std::string access_key, secret_key, token;
    std::chrono::seconds lifetime = std::chrono::hours(1);
  };
  /// `secrets`: access keys and secrets that may sign.
  explicit FakeSts(std::map<std::string, std::string> secrets, Keys keys)
      : secrets_(std::move(secrets)), keys_(std::move(keys)) {
    listener_ = *millrace::testing::HttpListener::start(
        {}, [this](const millrace::testing::HttpRequest& request) { return answer(request); });
  }
  [[nodiscard]] std::string endpoint() const { return listener_->endpoint(); }
  [[nodiscard]] int asked() const {
    const MutexLock lock(mutex_);
    return static_cast<int>(forms_.size());
  }
  /// Of the request of that number, from 0: its form, sorted by name, with its access key and region as "@".
  [[nodiscard]] std::map<std::string, std::string> form(std::size_t number) const {
    const MutexLock lock(mutex_);
    return forms_.at(number);
  }
  void refuse_with(int status, std::string body) {
    const MutexLock lock(mutex_);
    refusal_ = {status, std::move(body)};
  }
  void give(Keys keys) {
    const MutexLock lock(mutex_);
    keys_ = std::move(keys);
  }
  /// The first that many requests are answered 503.
  void fail_first(int times) {
    const MutexLock lock(mutex_);
    failures_ = times;
  }

 private:
  using HttpAnswer = millrace::testing::HttpAnswer;
  HttpAnswer answer(const millrace::testing::HttpRequest& request) {
    std::map<std::string, std::string> form;
    for (auto& [name, value] : millrace::testing::parse_query(request.body).value_or(millrace::testing::Query{})) {
      form[name] = value;
    }
    const auto header = millrace::testing::parse_sigv4_header(request.header("authorization"));
    if (header) form["@"] = fmt::format("{} {} {}", header->access_key, header->region, header->service);
    const MutexLock lock(mutex_);
    forms_.push_back(form);
    HttpAnswer answer;
    answer.set_header("Content-Type", "text/xml");
    const auto refuse = [&answer](int status, const std::string& code) {
      answer.status = status;
      answer.set_body(
          fmt::format("<ErrorResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><Error>"
                      "<Type>Sender</Type><Code>{}</Code><Message>no</Message></Error></ErrorResponse>",
                      code));
      return answer;
    };
    if (failures_ > 0) {
      --failures_;
      return refuse(503, "ServiceUnavailable");
    }
    if (refusal_.first != 0) {
      answer.status = refusal_.first;
      answer.set_body(refusal_.second);
      return answer;
    }
    if (request.method != "POST" || request.header("content-type") != "application/x-www-form-urlencoded") {
      return refuse(400, "InvalidAction");
    }
    const std::string& action = form["Action"];
    if (action == "AssumeRole") {
      const auto secret = header ? secrets_.find(header->access_key) : secrets_.end();
      if (secret == secrets_.end()) return refuse(403, "InvalidClientTokenId");
      if (millrace::testing::sigv4_signature(request, *header, secret->second) != header->signature ||
          request.header("x-amz-content-sha256") != millrace::testing::sha256_hex(request.body)) {
        return refuse(403, "SignatureDoesNotMatch");
      }
    } else if (action != "AssumeRoleWithWebIdentity" || header) {
      return refuse(400, "InvalidAction");
    }
    answer.set_body(fmt::format(
        "<{0}Response xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><{0}Result><AssumedRoleUser><Arn>{5}</Arn>"
        "</AssumedRoleUser><Credentials><AccessKeyId>{1}</AccessKeyId><SecretAccessKey>{2}</SecretAccessKey>"
        "<SessionToken>{3}</SessionToken><Expiration>{4}</Expiration></Credentials></{0}Result></{0}Response>",
        action, keys_.access_key, keys_.secret_key, keys_.token, time_in(keys_.lifetime), form["RoleArn"]));
    return answer;
  }

  const std::map<std::string, std::string> secrets_;
  mutable Mutex mutex_;
  Keys keys_ MILLRACE_GUARDED_BY(mutex_);
  std::pair<int, std::string> refusal_ MILLRACE_GUARDED_BY(mutex_);
  int failures_ MILLRACE_GUARDED_BY(mutex_) = 0;
  std::vector<std::map<std::string, std::string>> forms_ MILLRACE_GUARDED_BY(mutex_);
  std::unique_ptr<millrace::testing::HttpListener> listener_;
};

/// Options for the fixture's server without its keys: others are asked.
inline S3Options without_keys(const Fixture& f) {
  S3Options options = options_for(*f.server);
  options.keys.reset();
  return options;
}

}  // namespace millrace::s3::testing
