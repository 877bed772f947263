// SPDX-License-Identifier: Apache-2.0
// Resolver: names of hosts as addresses, by a deadline. The system's own has none, so it runs on a thread that is left
// behind when it takes too long; who asks again waits for that one, so that there is one for each name at most. Owned
// by a client; one thread at a time.
#pragma once

#include <sys/socket.h>

#include <functional>
#include <memory>
#include <vector>

#include "connectors/iggy_client/address.h"
#include "connectors/iggy_client/cancellation.h"
#include "millrace/base/result.h"
#include "millrace/base/time.h"

namespace millrace::iggy {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

class Resolver {
 public:
  struct Found {
    int status = 0;  ///< of getaddrinfo
    std::vector<SocketAddress> addresses;
  };
  /// Takes its time. Called on threads of its own, which may outlive the resolver.
  using LookUp = std::function<Found(const Address&)>;
  explicit Resolver(LookUp look_up = system_look_up());
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  /// At least one. Fails (retryable): unreachable, timeout, cancelled.
  [[nodiscard]] Result<std::vector<SocketAddress>> resolve(const Address& address, Clock& clock, SteadyTime deadline,
                                                           const Cancellation& cancellation);

 private:
  struct Question;
  [[nodiscard]] static LookUp system_look_up();
  [[nodiscard]] std::shared_ptr<Question> ask(const Address& address);
  const LookUp look_up_;
  std::vector<std::shared_ptr<Question>> open_;  ///< without an answer when last looked at
};

}  // namespace millrace::iggy
