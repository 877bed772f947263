// SPDX-License-Identifier: Apache-2.0
// Client: one connection to an Iggy server, with everything that keeps it alive: login, heartbeats, reconnecting with
// backoff, memberships taken up again, the way to the leader. Speaks both framings. Every wait has a deadline. Belongs
// to one thread at a time; cancel() may come from any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "millrace/base/backoff.h"
#include "millrace/base/log.h"
#include "millrace/base/result.h"
#include "millrace/base/time.h"
#include "millrace/iggy_client/messages.h"
#include "millrace/iggy_client/protocol.h"

namespace millrace::iggy {

/// Who logs in: a user with a password, a personal access token, or a file that holds one. Exactly one of the three.
/// Never shown.
struct Credentials {
  std::string username;
  std::string password;
  std::string token;
  std::string token_file;  ///< read at each login; blanks and newlines at its end do not count
};

struct TlsOptions {
  bool enabled = false;
  std::string server_name;  ///< in the certificate; empty: the host of the address
  std::string ca_file;      ///< PEM; empty: what the system trusts
  bool verify = true;       ///< false: any certificate is taken
};

struct ClientOptions {
  std::string address;  ///< "host:port"; an IPv6 address stands in brackets
  Credentials credentials;
  TlsOptions tls;
  ProtocolChoice protocol = ProtocolChoice::auto_detect;
  ProtocolVersion version;  ///< which the vsr framing announces
  Duration connect_timeout = std::chrono::seconds(5);
  Duration request_timeout = std::chrono::seconds(30);
  Duration heartbeat = std::chrono::seconds(5);  ///< keep_alive() pings after so long without a request
  BackoffOptions reconnect{std::chrono::milliseconds(200), std::chrono::seconds(10), 2.0};
  std::size_t max_reply_bytes = std::size_t{64} << 20U;  ///< of one reply, header and all
  bool verify_checksums = true;
  /// Who the client is in the vsr framing, over reconnects; nothing: somebody new. Two connections with one id evict
  /// each other.
  std::optional<ClientId> client_id;
  Clock* clock = &Clock::real();
  Random* random = &Random::system();
  Logger log;
};

struct PollRequest {
  Consumer consumer;
  TopicName topic;
  std::uint32_t partition = 0;
  PollFrom from;
  std::uint32_t count = 1000;  ///< messages at most
};

/// How a store of an offset ended, beside success and errors.
enum class StoreOutcome {
  stored,
  not_ours,    ///< no member, no group, or the partition is another member's: the offset is not kept
  beyond_end,  ///< the partition does not reach so far: messages were lost, or it was made anew
};

enum class JoinOutcome { joined, no_such_group };

class Client {
 public:
  /// Checks the options (config); connects nothing.
  [[nodiscard]] static Result<std::unique_ptr<Client>> make(ClientOptions options);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// Connects, logs in, goes to the leader and joins the groups again that were joined before, trying again with
  /// backoff until `deadline`, behind which the last try may take connect_timeout; nothing to do with a session that
  /// lives. Each call below connects by itself where there
  /// is no session: it waits out the backoff, at most reconnect.cap, and tries once, at most connect_timeout. A session
  /// that fails ends with the call that saw it fail (retryable); one that ends soon after its login adds to the
  /// backoff.
  [[nodiscard]] Result<void> connect(SteadyTime deadline);
  [[nodiscard]] bool connected() const noexcept;
  /// Sessions so far: another number than before tells that the connection is new.
  [[nodiscard]] std::uint64_t sessions() const noexcept;
  /// Found at the first connection, and kept. Requires that a connect succeeded.
  [[nodiscard]] Framing framing() const noexcept;
  /// As the server names it; empty where it does not say.
  [[nodiscard]] const std::string& server_version() const noexcept;
  [[nodiscard]] const ClientId& client_id() const noexcept;
  /// "127.0.0.1:8090": where the session is, or was.
  [[nodiscard]] const std::string& address() const noexcept;
  /// Leaves without a word. Memberships are remembered for the next connect.
  void disconnect() noexcept;
  /// Says goodbye; a server frees the memberships, and none is taken up again. Never waits longer than `deadline`.
  void log_out(SteadyTime deadline) noexcept;

  [[nodiscard]] Result<void> ping();
  /// Pings when nothing was asked for `heartbeat`. Call it at least that often: a server lets go of members that are
  /// silent.
  [[nodiscard]] Result<void> keep_alive();

  [[nodiscard]] Result<std::vector<ClusterNode>> cluster();
  /// Nothing: there is no such stream (topic, group).
  [[nodiscard]] Result<std::optional<StreamInfo>> get_stream(const Identifier& stream);
  [[nodiscard]] Result<std::optional<TopicInfo>> get_topic(const TopicName& topic);
  [[nodiscard]] Result<std::optional<GroupInfo>> get_group(const TopicName& topic, const Identifier& group);
  /// One that is there already is as good; then nothing about it is changed.
  [[nodiscard]] Result<void> create_stream(const std::string& name);
  [[nodiscard]] Result<void> create_topic(const Identifier& stream, const std::string& name, std::uint32_t partitions);
  [[nodiscard]] Result<void> create_group(const TopicName& topic, const std::string& name);
  /// So many partitions more.
  [[nodiscard]] Result<void> create_partitions(const TopicName& topic, std::uint32_t more);

  [[nodiscard]] Result<JoinOutcome> join(const TopicName& topic, const Identifier& group);
  /// A group that is gone, with its topic or without, or that this client is no member of, is left too.
  [[nodiscard]] Result<void> leave(const TopicName& topic, const Identifier& group);
  /// Nothing: not a member (any more). Of the vsr framing only.
  [[nodiscard]] Result<std::optional<GroupAssignment>> sync(const TopicName& topic, const Identifier& group);

  /// Never stores an offset. A reply beyond max_reply_bytes is asked for again with fewer messages, down to one, on a
  /// new session; the partition is then asked for that many, and rarely for more.
  [[nodiscard]] Result<void> poll(const PollRequest& request, PolledMessages& out);
  /// Success: the server has taken all of them, in order. A retryable error leaves open whether it has. A record-level
  /// error is about one message, whose index its text and its context `message` tell (a payload or user headers beyond
  /// kMaxPayload, kMaxUserHeaders), or about the only one (also: its partition key); nothing was sent then. What is
  /// wrong with one of several, and nobody knows with which, is fatal. In the vsr framing messages whose own times (0
  /// too) are more than 71 minutes apart go in several requests, of which the first may be taken when a later one
  /// fails.
  [[nodiscard]] Result<std::vector<SendConfirmation>> send(const TopicName& topic, const Partitioning& partitioning,
                                                           std::span<const OutgoingMessage> messages);

  /// Nothing: none is stored. A server says the same when it could not look: treat a sudden nothing as suspicious.
  [[nodiscard]] Result<std::optional<StoredOffset>> get_offset(const Consumer& consumer, const TopicName& topic,
                                                               std::uint32_t partition);
  /// `offset` is that of the last message processed. May go back.
  [[nodiscard]] Result<StoreOutcome> store_offset(const Consumer& consumer, const TopicName& topic,
                                                  std::uint32_t partition, std::uint64_t offset);
  /// One that is not there is as good.
  [[nodiscard]] Result<void> delete_offset(const Consumer& consumer, const TopicName& topic, std::uint32_t partition);

  /// Any thread: what waits ends with `cancelled`, and so does what comes.
  void cancel() noexcept;

 private:
  struct State;
  explicit Client(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace millrace::iggy
