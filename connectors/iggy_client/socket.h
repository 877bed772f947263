// SPDX-License-Identifier: Apache-2.0
// Socket: a TCP connection that never blocks but in wait(). Owned by one transport.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "connectors/iggy_client/address.h"
#include "connectors/iggy_client/cancellation.h"
#include "connectors/iggy_client/transport.h"
#include "millrace/base/result.h"
#include "millrace/base/time.h"

namespace millrace::iggy {

struct SocketAddress;

class Socket final : public Transport {
 public:
  /// To the first of `addresses`, of which there is at least one, that takes it; each has its share of the time.
  [[nodiscard]] static Result<std::unique_ptr<Socket>> connect(std::span<const SocketAddress> addresses, Clock& clock,
                                                               SteadyTime deadline, const Cancellation& cancellation);
  ~Socket() override;
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  [[nodiscard]] Result<void> send(std::string_view bytes, SteadyTime deadline) override;
  [[nodiscard]] Result<std::size_t> receive(std::span<char> room, SteadyTime deadline) override;
  [[nodiscard]] Address peer() const override;

  /// What went through without waiting; nothing: it would have to wait. 0 received: the other end has closed.
  [[nodiscard]] Result<std::optional<std::size_t>> try_send(std::string_view bytes);
  [[nodiscard]] Result<std::optional<std::size_t>> try_receive(std::span<char> room);
  [[nodiscard]] Result<void> wait(bool to_send, SteadyTime deadline);
  [[nodiscard]] static Error closed();

 private:
  Socket(int descriptor, Clock& clock, const Cancellation& cancellation)
      : descriptor_(descriptor), clock_(&clock), cancellation_(&cancellation) {}
  [[nodiscard]] Result<void> open(const SocketAddress& address, SteadyTime deadline);
  const int descriptor_;
  Clock* const clock_;
  const Cancellation* const cancellation_;
};

}  // namespace millrace::iggy
