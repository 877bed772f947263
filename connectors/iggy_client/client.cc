// SPDX-License-Identifier: Apache-2.0
#include "millrace/iggy_client/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "connectors/iggy_client/client_state.h"
#include "connectors/iggy_client/login_secret.h"
#include "connectors/iggy_client/message_batch.h"

namespace millrace::iggy {
namespace {

std::string named(const TopicName& topic) {
  return fmt::format("'{}/{}'", to_string(topic.stream), to_string(topic.topic));
}
std::string named(const TopicName& topic, const Identifier& group) {
  return fmt::format("group '{}' of {}", to_string(group), named(topic));
}
std::string named(const Consumer& consumer) {
  return fmt::format("{} '{}'", consumer.kind == Consumer::Kind::group ? "group" : "consumer", to_string(consumer.id));
}

// What is said of a consumer's or a member's business with a partition that it has none with.
bool is_not_ours(std::uint32_t code) {
  constexpr std::array kCodes{kNotFound, kConsumerNotResolved, kNoGroupById, kNoGroupByName, kNotAMember, kNotOwned};
  return std::ranges::find(kCodes, code) != kCodes.end();
}
Result<void> check_key(const Partitioning& partitioning, std::size_t messages) {
  const std::size_t size = partitioning.key.size();
  if (partitioning.kind != Partitioning::Kind::key || (size >= 1 && size <= 255)) return {};
  const Error bad = Error::record(ErrorCode::invalid_request,
                                  fmt::format("the partition key has {} bytes, and Iggy takes 1 to 255", size));
  return fail(messages == 1 ? bad : Error(bad).as(ErrorClass::fatal));
}
bool is_no_group(std::uint32_t code) { return code == kNotFound || code == kNoGroupById || code == kNoGroupByName; }

}  // namespace

Result<std::unique_ptr<Client>> Client::make(ClientOptions options) {
  MILLRACE_ASSIGN(Address address, Address::parse(options.address));
  MILLRACE_TRY(check_credentials(options.credentials));
  if (options.client_id == ClientId{}) return fail(Error::config("the id of an Iggy client is not all zeros"));
  if (options.max_reply_bytes < kSmallestLimit) {
    return fail(Error::config(fmt::format("max_reply_bytes of an Iggy client is at least {}, not {}", kSmallestLimit,
                                          options.max_reply_bytes)));
  }
  if (options.protocol != ProtocolChoice::classic) MILLRACE_TRY(vsr_layout(options.version));
  MILLRACE_ASSIGN(std::unique_ptr<Cancellation> cancellation, Cancellation::make());
  return std::unique_ptr<Client>(
      new Client(std::make_unique<State>(std::move(options), std::move(address), std::move(cancellation))));
}

Client::Client(std::unique_ptr<State> state) : state_(std::move(state)) {}
Client::~Client() = default;

Result<void> Client::connect(SteadyTime deadline) { return state_->connect(deadline); }
bool Client::connected() const noexcept { return state_->session != nullptr; }
std::uint64_t Client::sessions() const noexcept { return state_->sessions; }
Framing Client::framing() const noexcept { return state_->layout->framing; }
const std::string& Client::server_version() const noexcept { return state_->server_version; }
const ClientId& Client::client_id() const noexcept { return state_->client; }
const std::string& Client::address() const noexcept { return state_->address; }
void Client::disconnect() noexcept { state_->drop(); }
void Client::cancel() noexcept { state_->cancellation->cancel(); }

void Client::log_out(SteadyTime deadline) noexcept {
  if (!state_->session) {
    state_->memberships.clear();
    return;
  }
  Request request = bare_request(Command::logout);
  const auto answer =
      state_->session->ask(request, std::min(deadline, state_->now() + state_->options.request_timeout));
  // Whatever it answers: the connection is closed, which says the same.
  if (!answer) state_->options.log.debug("the Iggy server did not say goodbye", {{"why", answer.error().message()}});
  state_->drop();
  state_->memberships.clear();
}

Result<void> Client::ping() {
  MILLRACE_TRY(state_->ensure());
  MILLRACE_TRY(state_->demand(bare_request(Command::ping), [&] { return "pinging " + address(); }));
  return {};
}

Result<void> Client::keep_alive() {
  if (state_->session && state_->now() < state_->asked + state_->options.heartbeat) return {};
  return ping();
}

Result<std::vector<ClusterNode>> Client::cluster() {
  MILLRACE_TRY(state_->ensure());
  const auto doing = [&] { return "asking for the cluster of " + address(); };
  MILLRACE_ASSIGN(const std::string_view body, state_->demand(bare_request(Command::cluster), doing));
  return read_cluster(body);
}

Result<std::optional<StreamInfo>> Client::get_stream(const Identifier& stream) {
  MILLRACE_TRY(state_->ensure());
  const auto doing = [&] { return fmt::format("asking for stream '{}' at {}", to_string(stream), address()); };
  MILLRACE_ASSIGN(const std::string_view body, state_->demand(stream_request(Command::get_stream, stream), doing));
  return read_stream(*state_->layout, body);
}

Result<std::optional<TopicInfo>> Client::get_topic(const TopicName& topic) {
  MILLRACE_TRY(state_->ensure());
  const auto doing = [&] { return fmt::format("asking for topic {} at {}", named(topic), address()); };
  Request request = topic_request(Command::get_topic, topic);
  MILLRACE_ASSIGN(const Answer answer, state_->ask(request, doing));
  if (answer.status != 0) {
    Error error = refused(answer.status, doing());
    if (error.code() == ErrorCode::not_found) return std::nullopt;
    return fail(std::move(error));
  }
  return read_topic(*state_->layout, answer.payload);
}

Result<std::optional<GroupInfo>> Client::get_group(const TopicName& topic, const Identifier& group) {
  MILLRACE_TRY(state_->ensure());
  const auto doing = [&] { return fmt::format("asking for {} at {}", named(topic, group), address()); };
  Request request = group_request(Command::get_group, topic, group);
  MILLRACE_ASSIGN(const Answer answer, state_->ask(request, doing));
  if (is_no_group(answer.status)) return std::nullopt;
  if (answer.status != 0) return fail(refused(answer.status, doing()));
  return read_group(answer.payload);
}

Result<void> Client::create_stream(const std::string& name) {
  MILLRACE_TRY(state_->ensure());
  const auto doing = [&] {
    return fmt::format("making stream '{}' at {}", to_string(Identifier::name(name)), address());
  };
  MILLRACE_TRY(state_->demand(create_stream_request(name), doing, kStreamExists));
  return {};
}

Result<void> Client::create_topic(const Identifier& stream, const std::string& name, std::uint32_t partitions) {
  MILLRACE_TRY(state_->ensure());
  const auto doing = [&] {
    return fmt::format("making topic {} at {}", named({stream, Identifier::name(name)}), address());
  };
  MILLRACE_TRY(state_->demand(create_topic_request(*state_->layout, stream, name, partitions), doing, kTopicExists));
  return {};
}

Result<void> Client::create_partitions(const TopicName& topic, std::uint32_t more) {
  MILLRACE_TRY(state_->ensure());
  const auto doing = [&] { return fmt::format("adding partitions to {} at {}", named(topic), address()); };
  MILLRACE_TRY(state_->demand(create_partitions_request(topic, more), doing));
  return {};
}

Result<void> Client::create_group(const TopicName& topic, const std::string& name) {
  MILLRACE_TRY(state_->ensure());
  const auto doing = [&] { return fmt::format("making {} at {}", named(topic, Identifier::name(name)), address()); };
  MILLRACE_TRY(state_->demand(create_group_request(topic, name), doing, kGroupExists));
  return {};
}

Result<JoinOutcome> Client::join(const TopicName& topic, const Identifier& group) {
  MILLRACE_TRY(state_->ensure());
  const auto doing = [&] { return fmt::format("joining {} at {}", named(topic, group), address()); };
  Request request = group_request(Command::join_group, topic, group);
  MILLRACE_ASSIGN(const Answer answer, state_->ask(request, doing));
  if (is_no_group(answer.status)) return JoinOutcome::no_such_group;
  if (answer.status != 0) return fail(refused(answer.status, doing()));
  const State::Membership membership{topic, group};
  if (std::ranges::find(state_->memberships, membership) == state_->memberships.end()) {
    state_->memberships.push_back(membership);
  }
  return JoinOutcome::joined;
}

Result<void> Client::leave(const TopicName& topic, const Identifier& group) {
  std::erase(state_->memberships, State::Membership{topic, group});
  MILLRACE_TRY(state_->ensure());
  const auto doing = [&] { return fmt::format("leaving {} at {}", named(topic, group), address()); };
  Request request = group_request(Command::leave_group, topic, group);
  MILLRACE_ASSIGN(const Answer answer, state_->ask(request, doing));
  if (answer.status == 0 || is_not_ours(answer.status)) return {};
  Error error = refused(answer.status, doing());
  // Its stream or topic is gone, and the group with it.
  if (error.code() == ErrorCode::not_found) return {};
  return fail(std::move(error));
}

Result<std::optional<GroupAssignment>> Client::sync(const TopicName& topic, const Identifier& group) {
  MILLRACE_TRY(state_->ensure());
  const auto doing = [&] {
    return fmt::format("asking for our partitions in {} at {}", named(topic, group), address());
  };
  if (!state_->layout->syncs_groups) {
    return fail(Error::fatal(ErrorCode::not_supported, doing() + ": the classic protocol cannot say"));
  }
  Request request = group_request(Command::sync_group, topic, group);
  MILLRACE_ASSIGN(const Answer answer, state_->ask(request, doing));
  if (is_not_ours(answer.status)) return std::nullopt;
  if (answer.status != 0) return fail(refused(answer.status, doing()));
  return read_assignment(answer.payload);
}

Result<void> Client::poll(const PollRequest& request, PolledMessages& out) {
  for (;;) {
    MILLRACE_TRY(state_->ensure());
    const std::uint32_t count = state_->poll_limits.count(request.topic, request.partition, request.count);
    const auto doing = [&] {
      return fmt::format("polling {} partition {} at {} {} from {}", named(request.topic), request.partition,
                         request.from.kind == PollFrom::Kind::timestamp ? "time" : "offset", request.from.value,
                         address());
    };
    Request asked = poll_request(request.consumer, request.topic, request.partition, request.from, count);
    Result<Answer> answer = state_->ask(asked, doing);
    if (!answer && answer.error().code() == ErrorCode::too_large && answer.error().is_retryable()) {
      if (count == 1) {
        return fail(std::move(answer)
                        .error()
                        .as(ErrorClass::fatal)
                        .prefixed("one message alone is too large; raise max_reply_bytes: "));
      }
      state_->poll_limits.failed(request.topic, request.partition, count);
      continue;
    }
    if (!answer) return fail(std::move(answer).error());
    out.messages_.clear();
    out.partition_ = request.partition;
    // The classic framing has a status for it; the other answers with a partition that there is not.
    out.not_ours_ = out.not_a_member_ = answer->status == kNotAMember;
    if (out.not_ours_) return {};
    if (answer->status != 0) return fail(refused(answer->status, doing()));
    if (auto done = state_->decoder->decode(answer->payload, out); !done) {
      out.messages_.clear();
      return fail(std::move(done).error().prefixed(doing() + ": "));
    }
    if (!out.not_ours_ && out.partition_ != request.partition) {
      if (!out.messages_.empty()) {
        out.messages_.clear();
        return fail(
            Error::fatal(ErrorCode::bad_response,
                         fmt::format("{}: the server answers with messages of partition {}", doing(), out.partition_)));
      }
      // The classic framing tells a member so that a partition is another's. The other hides failures behind such an
      // answer, which is empty then.
      out.not_ours_ = state_->layout->single_messages && request.consumer.kind == Consumer::Kind::group;
    }
    state_->poll_limits.fitted(request.topic, request.partition, out.messages_.size(), answer->payload.size());
    state_->session->swap_body(out.body_);
    return {};
  }
}

Result<std::vector<SendConfirmation>> Client::send(const TopicName& topic, const Partitioning& partitioning,
                                                   std::span<const OutgoingMessage> messages) {
  std::vector<SendConfirmation> all;
  if (messages.empty()) return all;
  const auto doing = [&] {
    return fmt::format("sending {} messages to {} at {}", messages.size(), named(topic), address());
  };
  if (auto done = check_messages(messages); !done) return fail(std::move(done).error().prefixed(doing() + ": "));
  if (auto done = check_key(partitioning, messages.size()); !done) {
    return fail(std::move(done).error().prefixed(doing() + ": "));
  }
  MILLRACE_TRY(state_->ensure());
  for (std::span<const OutgoingMessage> rest = messages; !rest.empty();) {
    const std::size_t count = state_->layout->single_messages ? rest.size() : batch_length(rest);
    Request request = send_request(*state_->layout, topic, partitioning, rest.first(count), *state_->options.random);
    auto body = state_->demand(std::move(request), doing);
    if (!body && body.error().is_record() && messages.size() > 1) {
      return fail(
          std::move(body).error().as(ErrorClass::fatal).prefixed("of one of them, and it does not say which: "));
    }
    if (!body) return fail(std::move(body).error());
    if (!state_->layout->single_messages) {
      MILLRACE_ASSIGN(const std::vector<SendConfirmation> some, read_confirmations(*body));
      all.insert(all.end(), some.begin(), some.end());
    }
    rest = rest.subspan(count);
  }
  return all;
}

Result<std::optional<StoredOffset>> Client::get_offset(const Consumer& consumer, const TopicName& topic,
                                                       std::uint32_t partition) {
  MILLRACE_TRY(state_->ensure());
  const auto doing = [&] {
    return fmt::format("asking for the offset of {} in {} partition {} at {}", named(consumer), named(topic), partition,
                       address());
  };
  MILLRACE_ASSIGN(const std::string_view body,
                  state_->demand(get_offset_request(consumer, topic, partition), doing, kNoStoredOffset));
  MILLRACE_ASSIGN(std::optional<StoredOffset> stored, read_offset(body));
  if (stored && stored->partition != partition) {
    return fail(Error::fatal(ErrorCode::bad_response, fmt::format("{}: the server answers with that of partition {}",
                                                                  doing(), stored->partition)));
  }
  return stored;
}

Result<StoreOutcome> Client::store_offset(const Consumer& consumer, const TopicName& topic, std::uint32_t partition,
                                          std::uint64_t offset) {
  MILLRACE_TRY(state_->ensure());
  const auto doing = [&] {
    return fmt::format("storing offset {} of {} in {} partition {} at {}", offset, named(consumer), named(topic),
                       partition, address());
  };
  Request request = store_offset_request(*state_->layout, consumer, topic, partition, offset);
  MILLRACE_ASSIGN(const Answer answer, state_->ask(request, doing));
  if (answer.status == kInvalidOffset) return StoreOutcome::beyond_end;
  if (consumer.kind == Consumer::Kind::group && is_not_ours(answer.status)) return StoreOutcome::not_ours;
  if (answer.status != 0) return fail(refused(answer.status, doing()));
  return StoreOutcome::stored;
}

Result<void> Client::delete_offset(const Consumer& consumer, const TopicName& topic, std::uint32_t partition) {
  MILLRACE_TRY(state_->ensure());
  const auto doing = [&] {
    return fmt::format("deleting the offset of {} in {} partition {} at {}", named(consumer), named(topic), partition,
                       address());
  };
  MILLRACE_TRY(
      state_->demand(delete_offset_request(*state_->layout, consumer, topic, partition), doing, kNoStoredOffset));
  return {};
}

}  // namespace millrace::iggy
