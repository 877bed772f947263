// SPDX-License-Identifier: Apache-2.0
// What the tests of the S3 store share: a store on the fault server, a log that is kept, and reads that are waited for.
#pragma once

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/base/log.h"
#include "millrace/base/sync.h"
#include "store/s3/s3_store.h"
#include "tests/s3_fault_server/fault_server.h"

namespace millrace::s3::testing {

/// Keeps every line that is logged.
class KeptLog final : public LogSink {
 public:
  void write(LogLevel /*level*/, std::string_view component, std::string_view message,
             std::initializer_list<LogField> fields) override {
    const MutexLock lock(mutex_);
    text_.append(component).append(": ").append(message);
    for (const LogField& field : fields) text_.append(" ").append(field.key).append("=").append(field.value);
    text_ += '\n';
  }
  [[nodiscard]] std::string text() const {
    const MutexLock lock(mutex_);
    return text_;
  }

 private:
  mutable Mutex mutex_;
  std::string text_ MILLRACE_GUARDED_BY(mutex_);
};

/// A read that has been waited for.
struct ReadAnswer {
  ReadOutcome outcome;
  std::string bytes;  ///< the good ones at the front
};

/// One read on its way.
class PendingRead {
 public:
  PendingRead(ObjectStore& store, std::string key, std::uint64_t offset, std::size_t length, ETag if_match = {},
              std::optional<std::uint64_t> object_size = {})
      : bytes_(length, '#') {
    ReadRequest request;
    request.key = std::move(key);
    request.offset = offset;
    request.destination = bytes_;
    request.if_match = std::move(if_match);
    request.expected_object_size = object_size;
    request.done = [this](ReadOutcome outcome) {
      const MutexLock lock(mutex_);
      outcome_ = std::move(outcome);
      arrived_.notify_all();
    };
    handle_ = store.start_read(std::move(request));
  }
  void cancel() { handle_->cancel(); }
  ReadAnswer wait() {
    const MutexLock lock(mutex_);
    while (!outcome_) arrived_.wait(mutex_);
    return {std::move(*outcome_), bytes_.substr(0, outcome_->received)};
  }

 private:
  std::string bytes_;
  Mutex mutex_;
  CondVar arrived_;
  std::optional<ReadOutcome> outcome_ MILLRACE_GUARDED_BY(mutex_);
  std::shared_ptr<ReadHandle> handle_;
};

inline ReadAnswer read(ObjectStore& store, std::string key, std::uint64_t offset, std::size_t length,
                       ETag if_match = {}, std::optional<std::uint64_t> object_size = {}) {
  return PendingRead(store, std::move(key), offset, length, std::move(if_match), object_size).wait();
}

/// Options for `server` with its own keys.
inline S3Options options_for(const millrace::testing::FaultServer& server) {
  S3Options options;
  options.bucket = "bucket";
  options.endpoint = server.endpoint();
  options.region = server.options().region;
  options.keys = Credentials{server.options().access_key, server.options().secret_key, server.options().session_token,
                             INT64_MAX, "the store's options"};
  return options;
}

/// A server with an empty bucket "bucket", and a store on it.
struct Fixture {
  explicit Fixture(millrace::testing::FaultServerOptions server_options = {}) {
    auto started = millrace::testing::FaultServer::start(std::move(server_options));
    if (!started) {
      std::fprintf(stderr, "%s\n", started.error().message().c_str());
      std::abort();
    }
    server = std::move(*started);
    server->create_bucket("bucket");
    log = std::make_shared<KeptLog>();
    open(options_for(*server));
  }
  void open(const S3Options& options, Clock& clock = Clock::real()) {
    StoreContext context;
    context.clock = &clock;
    context.log = Logger(log, "test", LogLevel::debug);
    auto made = make_store(options, context);
    if (!made) {
      std::fprintf(stderr, "%s\n", made.error().message().c_str());
      std::abort();
    }
    store = std::move(*made);
  }

  std::unique_ptr<millrace::testing::FaultServer> server;
  std::shared_ptr<KeptLog> log;
  std::shared_ptr<ObjectStore> store;
};

/// Bytes in which every place looks different from its neighbours.
inline std::string patterned(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>('a' + (i * 7 + i / 251) % 26);
  return bytes;
}

/// Loads a canned case; one that is missing ends the test program.
inline void play(Fixture& f, std::string_view name) {
  if (const auto loaded = f.server->load_case(name); !loaded) {
    std::fprintf(stderr, "%s\n", loaded.error().message().c_str());
    std::abort();
  }
}

/// Why a read failed; one that did not ends the test program.
inline const Error& error_of(const ReadAnswer& answer) {
  if (answer.outcome.info) {
    std::fprintf(stderr, "a read succeeded that should not have\n");
    std::abort();
  }
  return answer.outcome.info.error();
}

}  // namespace millrace::s3::testing
