// SPDX-License-Identifier: Apache-2.0
// Client: a connection to a cluster, as librdkafka keeps it, with threads of its own. Shared by the source or sink that
// made it and by all that hold something of it. What it says by itself goes to the log.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "connectors/kafka/handles.h"
#include "millrace/base/error.h"
#include "millrace/base/log.h"
#include "millrace/base/result.h"
#include "millrace/base/sync.h"

namespace millrace::kafka {

/// The longest that one call which asks brokers waits for them; between two of these a stop is heard.
inline constexpr int kAskMillis = 500;

class Client {
 public:
  /// Takes the configuration over, and keeps `kept` as long as it lives. `hooks` is what its callbacks are given as
  /// opaque; the error and log callbacks are this class's own. Connects in the background.
  [[nodiscard]] static Result<std::shared_ptr<Client>> make(rd_kafka_type_t type, ConfHandle conf, Logger log,
                                                            void* hooks, std::shared_ptr<const void> kept = nullptr);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  [[nodiscard]] rd_kafka_t* get() const noexcept { return handle_; }
  [[nodiscard]] void* hooks() const noexcept { return hooks_; }
  /// The opaque of a callback of one of these.
  [[nodiscard]] static Client& of(void* opaque) noexcept { return *static_cast<Client*>(opaque); }

  /// The last that went wrong between this process and the brokers, in words; empty when nothing has. Any thread.
  [[nodiscard]] std::string trouble() const;
  /// The brokers do what they are asked for: what went wrong before explains nothing any more. Any thread.
  void clear_trouble();
  /// What no retry heals: a fenced producer or member. Any thread.
  [[nodiscard]] std::optional<Error> fatal() const;
  /// The last time that the brokers refused who this is. Wrong settings at the start; later it may be a broker that has
  /// just begun. Any thread.
  [[nodiscard]] std::optional<Error> refused() const;

  /// Wakes `waker` whenever something comes into the empty `queue`; a default-made one ends that. The waker is kept by
  /// the caller until then.
  static void wake_on(rd_kafka_queue_t* queue, const Waker* waker);

 private:
  Client(Logger log, void* hooks, std::shared_ptr<const void> kept)
      : log_(std::move(log)), hooks_(hooks), kept_(std::move(kept)) {}
  static void on_error(rd_kafka_t* handle, int code, const char* reason, void* opaque);
  static void on_log(const rd_kafka_t* handle, int level, const char* facility, const char* text);

  const Logger log_;
  void* const hooks_;
  const std::shared_ptr<const void> kept_;
  rd_kafka_t* handle_ = nullptr;
  mutable Mutex mutex_;
  std::string trouble_ MILLRACE_GUARDED_BY(mutex_);
  std::optional<Error> fatal_ MILLRACE_GUARDED_BY(mutex_);
  std::optional<Error> refused_ MILLRACE_GUARDED_BY(mutex_);
};

}  // namespace millrace::kafka
