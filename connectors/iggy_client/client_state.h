// SPDX-License-Identifier: Apache-2.0
// What a Client is made of: how it gets a session and keeps it. The calls themselves are in client.cc.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "connectors/iggy_client/cancellation.h"
#include "connectors/iggy_client/layout.h"
#include "connectors/iggy_client/poll_limits.h"
#include "connectors/iggy_client/poll_reply.h"
#include "connectors/iggy_client/resolver.h"
#include "connectors/iggy_client/session.h"
#include "millrace/base/backoff.h"
#include "millrace/iggy_client/client.h"

namespace millrace::iggy {

struct Client::State {
  State(ClientOptions given, Address configured, std::unique_ptr<Cancellation> ends);

  [[nodiscard]] Result<void> connect(SteadyTime deadline);
  /// Before a call: a session. Waits until it is time for another try, and tries once.
  [[nodiscard]] Result<void> ensure();
  void drop() noexcept;
  [[nodiscard]] SteadyTime now() const { return options.clock->now(); }

  /// `doing`: called for an error alone; says what was asked. A status that the caller may take another way is left in
  /// the answer; one that ends the session has ended it.
  template <class Doing>
  [[nodiscard]] Result<Answer> ask(Request& request, const Doing& doing) {
    if (request.invalid()) return fail(cannot_be_said(doing()));
    Result<Answer> answer = ask_once(request);
    if (!answer) return fail(std::move(answer).error().prefixed(doing() + ": "));
    if (answer->eviction) return fail(evicted(*answer->eviction, options.version, doing()));
    return answer;
  }
  /// The same for a request to which every status but `also` is an error; that one is success with no payload.
  template <class Doing>
  [[nodiscard]] Result<std::string_view> demand(Request request, const Doing& doing, std::uint32_t also = 0) {
    MILLRACE_ASSIGN(const Answer answer, ask(request, doing));
    if (answer.status != 0 && answer.status != also) return fail(refused(answer.status, doing()));
    return answer.payload;
  }

  struct Membership {
    TopicName topic;
    Identifier group;
    friend bool operator==(const Membership&, const Membership&) = default;
  };

  const ClientOptions options;
  const Address configured;
  const std::unique_ptr<Cancellation> cancellation;
  ClientId client{};
  std::optional<Framing> framing;
  const Layout* layout = nullptr;
  std::unique_ptr<Session> session;
  std::optional<PollReplyDecoder> decoder;
  std::vector<Membership> memberships;
  std::uint64_t sessions = 0;
  std::uint64_t last_request = 0;
  std::string server_version;
  std::string address;
  SteadyTime asked;  ///< when a request was last sent
  SteadyTime next_try = SteadyTime::min();
  std::optional<Error> last_failure;
  Backoff backoff;
  SteadyTime began;  ///< when the session was made
  PollLimits poll_limits;
  Resolver resolver;

 private:
  [[nodiscard]] Result<Answer> ask_once(Request& request);
  /// The session ended, and not by our will: the next try waits.
  void broke() noexcept;
  [[nodiscard]] Result<void> try_to_connect(SteadyTime deadline);
  [[nodiscard]] static Error cannot_be_said(const std::string& doing);
  [[nodiscard]] Result<void> connect_once(SteadyTime deadline);
  [[nodiscard]] Result<std::unique_ptr<Transport>> open(const Address& to, SteadyTime deadline);
  [[nodiscard]] Result<void> find_framing(const Address& to, SteadyTime deadline);
  [[nodiscard]] Result<void> log_in(const Address& at, SteadyTime deadline);
  [[nodiscard]] Result<std::optional<Address>> find_leader(const Address& here, SteadyTime deadline);
  [[nodiscard]] Result<void> rejoin(SteadyTime deadline);
};

}  // namespace millrace::iggy
