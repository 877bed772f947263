// SPDX-License-Identifier: Apache-2.0
#include "connectors/iggy_client/requests.h"

#include <limits>

#include "connectors/iggy_client/byte_reader.h"
#include "connectors/iggy_client/message_batch.h"

namespace millrace::iggy {
namespace {

class Payload {
 public:
  explicit Payload(Command command) : request_(command), to_(request_.bytes()) {}

  Payload& id(const Identifier& id) {
    if (id.as_number()) {
      to_.u8(1);
      to_.u8(sizeof(std::uint32_t));
      to_.u32(*id.as_number());
    } else {
      to_.u8(2);
      to_.name(id.as_name());
    }
    return *this;
  }
  Payload& topic(const TopicName& topic) { return id(topic.stream).id(topic.topic); }
  Payload& consumer(const Consumer& consumer) {
    to_.u8(static_cast<std::uint8_t>(consumer.kind));
    return id(consumer.id);
  }
  // Always given: a server that chooses one for us would have to be believed.
  Payload& partition(std::uint32_t partition) {
    to_.u8(1);
    to_.u32(partition);
    return *this;
  }
  Payload& partitioning(const Partitioning& partitioning) {
    to_.u8(static_cast<std::uint8_t>(partitioning.kind));
    switch (partitioning.kind) {
      case Partitioning::Kind::balanced:
        to_.u8(0);
        break;
      case Partitioning::Kind::partition:
        to_.u8(sizeof(std::uint32_t));
        to_.u32(partitioning.partition);
        break;
      case Partitioning::Kind::key:
        to_.name(partitioning.key);
        break;
    }
    return *this;
  }
  ByteWriter& to() noexcept { return to_; }
  [[nodiscard]] Request take() {
    request_.set_invalid(to_.failed());
    return std::move(request_);
  }

 private:
  Request request_;
  ByteWriter to_;
};

// No more than that may lie between the times of two messages of a batch, in microseconds.
constexpr std::uint64_t kLongestBatch = std::numeric_limits<std::uint32_t>::max();

}  // namespace

Request login_request(const Layout& layout, ProtocolVersion version, const Login& login) {
  const bool by_token = !login.token.empty();
  Payload payload(by_token ? Command::login_with_token : Command::login);
  ByteWriter& to = payload.to();
  if (layout.framing == Framing::vsr) {
    to.u32(version.packed());
    to.name(login.sdk_name);
    to.name(login.sdk_version);
  }
  if (by_token) {
    to.name(login.token);
  } else {
    to.name(login.username);
    to.name(login.password);
  }
  if (layout.framing == Framing::vsr) {
    to.block(login.context);
  } else if (!by_token) {
    to.block(login.sdk_version);
    to.block(login.context);
  }
  return payload.take();
}

Request bare_request(Command command) { return Request(command); }

Request stream_request(Command command, const Identifier& stream) { return Payload(command).id(stream).take(); }

Request topic_request(Command command, const TopicName& topic) { return Payload(command).topic(topic).take(); }

Request group_request(Command command, const TopicName& topic, const Identifier& group) {
  return Payload(command).topic(topic).id(group).take();
}

Request create_stream_request(std::string_view name) {
  Payload payload(Command::create_stream);
  payload.to().name(name);
  return payload.take();
}

Request create_topic_request(const Layout& layout, const Identifier& stream, std::string_view name,
                             std::uint32_t partitions) {
  Payload payload(Command::create_topic);
  ByteWriter& to = payload.id(stream).to();
  to.u32(partitions);
  if (layout.creates_with_settings) {
    to.u8(1);   // not compressed
    to.u64(0);  // expiry and size limit: the server's own
    to.u64(0);
    to.u8(1);  // one replica
  }
  to.name(name);
  return payload.take();
}

Request create_partitions_request(const TopicName& topic, std::uint32_t more) {
  Payload payload(Command::create_partitions);
  payload.topic(topic).to().u32(more);
  return payload.take();
}

Request create_group_request(const TopicName& topic, std::string_view name) {
  Payload payload(Command::create_group);
  payload.topic(topic).to().name(name);
  return payload.take();
}

Request poll_request(const Consumer& consumer, const TopicName& topic, std::uint32_t partition, PollFrom from,
                     std::uint32_t count) {
  Payload payload(Command::poll);
  ByteWriter& to = payload.consumer(consumer).topic(topic).partition(partition).to();
  to.u8(static_cast<std::uint8_t>(from.kind));
  to.u64(from.value);
  to.u32(count);
  to.u8(0);  // the offset is stored when the records are durable, not when they are read (INV-1)
  return payload.take();
}

Request get_offset_request(const Consumer& consumer, const TopicName& topic, std::uint32_t partition) {
  return Payload(Command::get_offset).consumer(consumer).topic(topic).partition(partition).take();
}

Request store_offset_request(const Layout& layout, const Consumer& consumer, const TopicName& topic,
                             std::uint32_t partition, std::uint64_t offset) {
  Payload payload(Command::store_offset);
  ByteWriter& to = payload.consumer(consumer).topic(topic).partition(partition).to();
  to.u64(offset);
  if (layout.acknowledges_offsets) to.u8(1);  // by a quorum
  return payload.take();
}

Request delete_offset_request(const Layout& layout, const Consumer& consumer, const TopicName& topic,
                              std::uint32_t partition) {
  Payload payload(Command::delete_offset);
  ByteWriter& to = payload.consumer(consumer).topic(topic).partition(partition).to();
  if (layout.acknowledges_offsets) to.u8(1);
  return payload.take();
}

Request send_request(const Layout& layout, const TopicName& topic, const Partitioning& partitioning,
                     std::span<const OutgoingMessage> messages, Random& random) {
  Payload payload(Command::send);
  ByteWriter& to = payload.to();
  const std::size_t length_at = to.at();
  to.u32(0);
  payload.topic(topic).partitioning(partitioning);
  to.u32(static_cast<std::uint32_t>(messages.size()));
  to.put(length_at, static_cast<std::uint32_t>(to.at() - length_at - sizeof(std::uint32_t)));
  const bool close_in_time = layout.single_messages || time_span(messages) <= kLongestBatch;
  if (layout.single_messages) {
    append_single_messages(messages, to);
  } else if (close_in_time) {
    append_batch(messages, random, to);
  }
  Request request = payload.take();
  request.set_invalid(!close_in_time);
  return request;
}

}  // namespace millrace::iggy
