// SPDX-License-Identifier: Apache-2.0
#include "connectors/kafka/client.h"

#include <fmt/format.h>
#include <syslog.h>

#include <utility>

#include "connectors/kafka/failures.h"

namespace millrace::kafka {

Result<std::shared_ptr<Client>> Client::make(rd_kafka_type_t type, ConfHandle conf, Logger log, void* hooks,
                                             std::shared_ptr<const void> kept) {
  std::shared_ptr<Client> client(new Client(std::move(log), hooks, std::move(kept)));
  rd_kafka_conf_set_opaque(conf.get(), client.get());
  rd_kafka_conf_set_error_cb(conf.get(), &on_error);
  rd_kafka_conf_set_log_cb(conf.get(), &on_log);
  char text[512] = "";
  client->handle_ = rd_kafka_new(type, conf.get(), text, sizeof text);
  if (client->handle_ == nullptr) {
    return fail(Error::config(fmt::format("kafka: the client cannot be made as it is configured: {}", text)));
  }
  [[maybe_unused]] const rd_kafka_conf_t* const taken = conf.release();  // the handle's from here on
  return client;
}

Client::~Client() {
  if (handle_ != nullptr) rd_kafka_destroy_flags(handle_, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
}

std::string Client::trouble() const {
  const MutexLock lock(mutex_);
  return trouble_;
}

void Client::clear_trouble() {
  const MutexLock lock(mutex_);
  trouble_.clear();
}

std::optional<Error> Client::fatal() const {
  const MutexLock lock(mutex_);
  return fatal_;
}

std::optional<Error> Client::refused() const {
  const MutexLock lock(mutex_);
  return refused_;
}

void Client::on_error(rd_kafka_t* handle, int code, const char* reason, void* opaque) {
  Client& self = of(opaque);
  constexpr std::string_view kDoing = "the connection to the brokers";
  const Role role = rd_kafka_type(handle) == RD_KAFKA_PRODUCER ? Role::sink : Role::source;
  Error error = code == RD_KAFKA_RESP_ERR__FATAL
                    ? fatal_error_of(handle, kDoing)
                    : error_of(static_cast<rd_kafka_resp_err_t>(code), kDoing, reason, role);
  self.log_.warn("kafka: trouble with the brokers", {{"error", error.message()}});
  const MutexLock lock(self.mutex_);
  self.trouble_ = error.message();
  // All others are for information: the library goes on by itself.
  if (code == RD_KAFKA_RESP_ERR__FATAL) {
    self.fatal_ = std::move(error);
  } else if (error.code() == ErrorCode::credentials) {
    self.refused_ = std::move(error);
  }
}

// On threads of the library, too.
void Client::on_log(const rd_kafka_t* handle, int level, const char* facility, const char* text) {
  const Client& self = of(rd_kafka_opaque(handle));
  const LogLevel as = level <= LOG_ERR ? LogLevel::warn : level <= LOG_NOTICE ? LogLevel::info : LogLevel::debug;
  self.log_.log(as, text, {{"librdkafka", facility}});
}

void Client::wake_on(rd_kafka_queue_t* queue, const Waker* waker) {
  if (waker == nullptr || !*waker) {
    rd_kafka_queue_cb_event_enable(queue, nullptr, nullptr);
    return;
  }
  rd_kafka_queue_cb_event_enable(
      queue, [](rd_kafka_t*, void* kept) { static_cast<const Waker*>(kept)->wake(); }, const_cast<Waker*>(waker));
}

}  // namespace millrace::kafka
