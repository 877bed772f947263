// SPDX-License-Identifier: Apache-2.0
// Session: one connection from its login on: one request in flight, its reply, and what the framing asks for around
// both. An error leaves it of no use. Belongs to one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "connectors/iggy_client/cancellation.h"
#include "connectors/iggy_client/layout.h"
#include "connectors/iggy_client/replies.h"
#include "connectors/iggy_client/reply_reader.h"
#include "connectors/iggy_client/request.h"
#include "connectors/iggy_client/requests.h"
#include "connectors/iggy_client/transport.h"

namespace millrace::iggy {

/// What a server said: a status, or that it let go of the session, or what was asked for. Nothing and no status stand
/// for a change that was found made, when a request whose outcome was open was repeated.
struct Answer {
  std::uint32_t status = 0;
  std::optional<Eviction> eviction;
  std::string_view payload;  ///< valid until the next request
};

class Session {
 public:
  struct Options {
    const Layout* layout = nullptr;
    std::size_t max_reply_bytes = 0;
    Clock* clock = nullptr;
    Cancellation* cancellation = nullptr;  ///< ends the waits between two tries of a request
    ClientId client{};
    /// Requests that change something are numbered from here up. A server takes a number that it has seen for a
    /// repeated request, also of an earlier session of the same client.
    std::uint64_t last_request = 0;
  };
  Session(Options options, std::unique_ptr<Transport> transport);

  /// The first thing asked. What the server said of the user, or why not.
  [[nodiscard]] Result<Answer> log_in(Request request, SteadyTime deadline);
  void logged_in(std::uint64_t session) noexcept { ids_.session = session; }
  /// A request whose outcome the server left open is repeated, under its number, until `deadline`. One that the server
  /// takes for a repeated one although it is not was lost: that fails (retryable), and last_request() is far beyond
  /// whatever number the server has seen.
  [[nodiscard]] Result<Answer> ask(Request& request, SteadyTime deadline);

  /// The bytes of the latest answer's payload, in exchange for other memory: the payload stays valid with them.
  void swap_body(ByteBuffer& other) noexcept { reader_.swap_body(other); }
  [[nodiscard]] Address peer() const { return transport_->peer(); }
  [[nodiscard]] std::uint64_t last_request() const noexcept { return ids_.request; }

 private:
  [[nodiscard]] Result<Answer> exchange(std::string_view frame, Operation operation, std::uint64_t request,
                                        SteadyTime deadline);
  [[nodiscard]] Result<Answer> repeat(std::string_view frame, Operation operation, std::uint64_t number,
                                      SteadyTime deadline);

  const Options options_;
  const std::unique_ptr<Transport> transport_;
  ReplyReader reader_;
  RequestIds ids_;
};

/// Which framing the server at the other end speaks: one ping, on a connection that is of no use afterwards.
[[nodiscard]] Result<Framing> probe_framing(Transport& transport, SteadyTime deadline);

}  // namespace millrace::iggy
