// SPDX-License-Identifier: Apache-2.0
#include "connectors/iggy_client/client_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "connectors/iggy_client/login_secret.h"

namespace millrace::iggy {
namespace {

constexpr std::string_view kName = "millrace";
// From node to node, in search of the leader.
constexpr int kMostHops = 3;
// A cluster that has no leader is asked again, for a while.
constexpr Duration kLeaderPause = std::chrono::milliseconds(250);
constexpr Duration kLeaderWait = std::chrono::seconds(5);
// A session that lived for so many of the longest pauses was sound.
constexpr int kSoundSessions = 3;

ClientId random_id(Random& random) {
  ClientId id;
  for (std::size_t i = 0; i < id.size(); ++i) id[i] = static_cast<std::uint8_t>(random.next() >> 32U);
  id[0] |= 1U;  // zero is nobody
  return id;
}

}  // namespace

Client::State::State(ClientOptions given, Address at, std::unique_ptr<Cancellation> ends)
    : options(std::move(given)),
      configured(std::move(at)),
      cancellation(std::move(ends)),
      client(options.client_id ? *options.client_id : random_id(*options.random)),
      address(configured.to_string()),
      backoff(options.reconnect, *options.random),
      poll_limits(options.max_reply_bytes) {}

void Client::State::drop() noexcept {
  if (!session) return;
  last_request = std::max(last_request, session->last_request());
  session.reset();
  // A login proves little; a session that ends at once, again and again, is made anew with growing pauses.
  if (now() - began >= kSoundSessions * options.reconnect.cap) backoff.reset();
}

Result<void> Client::State::ensure() {
  if (session) return {};
  MILLRACE_TRY(cancellation->wait_until(*options.clock, next_try));
  return try_to_connect(now() + options.connect_timeout);
}

Result<void> Client::State::connect(SteadyTime deadline) {
  while (!session) {
    // A caller that comes again and again waits here, not somewhere of its own.
    if (next_try > now()) MILLRACE_TRY(cancellation->wait_until(*options.clock, std::min(next_try, deadline)));
    if (next_try >= deadline && last_failure) return fail(*last_failure);
    // Whole: a server that is slow to take connections would never get one of many short ones to its end.
    Result<void> done = try_to_connect(now() + options.connect_timeout);
    if (done) return done;
    const bool again = done.error().is_retryable() && done.error().code() != ErrorCode::cancelled;
    if (!again || next_try >= deadline) return done;
  }
  return {};
}

Result<void> Client::State::try_to_connect(SteadyTime deadline) {
  if (cancellation->cancelled()) return fail(Cancellation::error());
  Result<void> done = connect_once(deadline);
  if (done) {
    last_failure.reset();
    next_try = SteadyTime::min();
    return {};
  }
  drop();
  Error error = std::move(done).error().prefixed(fmt::format("connecting to Iggy at {}: ", address));
  if (error.is_retryable() && error.code() != ErrorCode::cancelled) {
    next_try = now() + backoff.next();
    last_failure = error;
  }
  return fail(std::move(error));
}

void Client::State::broke() noexcept {
  drop();
  next_try = now() + backoff.next();
}

Result<std::unique_ptr<Transport>> Client::State::open(const Address& to, SteadyTime deadline) {
  address = to.to_string();
  TlsOptions tls = options.tls;
  // A cluster names its nodes by numbers, which a certificate rarely holds.
  if (tls.server_name.empty() && is_numeric(to.host) && !is_numeric(configured.host)) tls.server_name = configured.host;
  return connect_to(to, tls, *options.clock, deadline, *cancellation, resolver);
}

Result<void> Client::State::find_framing(const Address& to, SteadyTime deadline) {
  if (options.protocol != ProtocolChoice::auto_detect) {
    framing = options.protocol == ProtocolChoice::classic ? Framing::classic : Framing::vsr;
  } else if (!framing) {
    MILLRACE_ASSIGN(const std::unique_ptr<Transport> transport, open(to, deadline));
    Result<Framing> found = probe_framing(*transport, deadline);
    if (!found) return fail(std::move(found).error().prefixed("finding out which protocol the server speaks: "));
    framing = *found;
    options.log.info("the Iggy server's protocol was found out",
                     {{"address", to.to_string()}, {"protocol", std::string(to_string(*framing))}});
  }
  if (*framing == Framing::classic) {
    layout = &classic_layout();
  } else {
    MILLRACE_ASSIGN(layout, vsr_layout(options.version));
  }
  return {};
}

Result<void> Client::State::connect_once(SteadyTime deadline) {
  Address to = configured;
  for (int hop = 0;; ++hop) {
    MILLRACE_TRY(find_framing(to, deadline));
    MILLRACE_TRY(log_in(to, deadline));
    if (!layout->finds_leader || hop == kMostHops) break;
    MILLRACE_ASSIGN(const std::optional<Address> leader, find_leader(to, deadline));
    if (!leader) break;
    options.log.info("another node leads the Iggy cluster; going there",
                     {{"from", to.to_string()}, {"to", leader->to_string()}});
    drop();
    to = *leader;
  }
  MILLRACE_TRY(rejoin(deadline));
  ++sessions;
  options.log.info("connected to Iggy", {{"address", address},
                                         {"protocol", std::string(to_string(layout->framing))},
                                         {"server", server_version.empty() ? "0.8 or older" : server_version}});
  return {};
}

Result<void> Client::State::log_in(const Address& at, SteadyTime deadline) {
  Result<std::string> token = read_token(options.credentials);
  // A file that was good before is being written anew, perhaps.
  if (!token && sessions > 0) return fail(std::move(token).error().as(ErrorClass::retryable));
  if (!token) return fail(std::move(token).error());
  MILLRACE_ASSIGN(std::unique_ptr<Transport> transport, open(at, deadline));
  // Numbers rise over sessions and over processes, for as long as the wall clock does.
  last_request =
      std::max(last_request, static_cast<std::uint64_t>(std::max<UnixMicros>(options.clock->unix_micros(), 0)));
  began = now();
  session = std::make_unique<Session>(
      Session::Options{layout, options.max_reply_bytes, options.clock, cancellation.get(), client, last_request},
      std::move(transport));
  Login login{options.credentials.username, options.credentials.password, *token, kName, MILLRACE_VERSION, {}};
  Result<Answer> answer = session->log_in(login_request(*layout, options.version, login), deadline);
  if (!answer) {
    // A server of the other framing may say nothing, or something else: it is asked again which it speaks.
    if (options.protocol == ProtocolChoice::auto_detect) framing.reset();
    return fail(std::move(answer).error().prefixed(
        fmt::format("logging in, by the {} protocol: ", to_string(layout->framing))));
  }
  if (answer->eviction) return fail(evicted(*answer->eviction, options.version, "logging in"));
  if (answer->status != 0) return fail(login_refused(answer->status, "logging in"));
  MILLRACE_ASSIGN(const LoggedIn logged_in, read_login(*layout, answer->payload));
  session->logged_in(logged_in.session);
  server_version = logged_in.server_version;
  decoder.emplace(*layout, options.verify_checksums);
  asked = now();
  return {};
}

// Nothing: stay here.
Result<std::optional<Address>> Client::State::find_leader(const Address& here, SteadyTime deadline) {
  // Half of what is left, so that memberships can be taken up again.
  const SteadyTime until = now() + std::min<Duration>(kLeaderWait, (deadline - now()) / 2);
  for (;;) {
    constexpr std::string_view kDoing = "asking which node leads the cluster";
    Request request = bare_request(Command::cluster);
    Result<Answer> answer = session->ask(request, deadline);
    if (!answer) return fail(std::move(answer).error().prefixed(fmt::format("{}: ", kDoing)));
    if (answer->eviction) return fail(evicted(*answer->eviction, options.version, kDoing));
    if (answer->status != 0) {
      Error error = refused(answer->status, kDoing);
      if (ends_session(answer->status)) return fail(std::move(error));
      options.log.warn("staying at this node of Iggy, as it does not say which one leads", {{"why", error.message()}});
      return std::nullopt;
    }
    MILLRACE_ASSIGN(const std::vector<ClusterNode> nodes, read_cluster(answer->payload));
    if (nodes.size() <= 1) return std::nullopt;
    const auto leader = std::ranges::find_if(nodes, [](const ClusterNode& node) {
      return node.leader && node.healthy && node.tcp_port != 0 && !node.ip.empty();
    });
    if (leader != nodes.end()) {
      Address there{leader->ip, leader->tcp_port};
      if (there == session->peer() || there == here) return std::nullopt;
      return there;
    }
    if (now() + kLeaderPause >= until) return std::nullopt;
    MILLRACE_TRY(cancellation->wait_until(*options.clock, now() + kLeaderPause));
  }
}

Result<void> Client::State::rejoin(SteadyTime deadline) {
  for (const Membership& one : memberships) {
    Request request = group_request(Command::join_group, one.topic, one.group);
    MILLRACE_ASSIGN(const Answer answer, session->ask(request, deadline));
    const std::string doing = fmt::format("joining group '{}' of '{}/{}' again", to_string(one.group),
                                          to_string(one.topic.stream), to_string(one.topic.topic));
    if (answer.eviction) return fail(evicted(*answer.eviction, options.version, doing));
    // A group or topic that is gone is found missing by whoever uses it.
    if (answer.status != 0 && refused(answer.status, doing).code() != ErrorCode::not_found) {
      return fail(refused(answer.status, doing));
    }
  }
  return {};
}

Result<Answer> Client::State::ask_once(Request& request) {
  // Nothing is asked that nobody waits for: a send would be made, and reported as not made.
  if (cancellation->cancelled()) return fail(Cancellation::error());
  asked = now();
  Result<Answer> answer = session->ask(request, asked + options.request_timeout);
  if (!answer) {
    // The next try asks for less.
    if (answer.error().code() == ErrorCode::too_large) {
      drop();
    } else {
      broke();
    }
    return answer;
  }
  // A node that does not take changes is left: the next session looks for the leader.
  if (answer->eviction || ends_session(answer->status) || answer->status == kUnavailable ||
      answer->status == kNotAccepted) {
    broke();
  }
  return answer;
}

Error Client::State::cannot_be_said(const std::string& doing) {
  return Error::fatal(ErrorCode::invalid_request, fmt::format("{}: a name has 1 to 255 bytes", doing));
}

}  // namespace millrace::iggy
