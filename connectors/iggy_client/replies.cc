// SPDX-License-Identifier: Apache-2.0
#include "connectors/iggy_client/replies.h"

#include <fmt/format.h>

#include <utility>

#include "connectors/iggy_client/byte_reader.h"

namespace millrace::iggy {
namespace {

constexpr std::size_t kPartitionRecord = 40;

std::unexpected<Error> malformed(std::string_view what, std::string_view body) {
  return fail(Error::fatal(ErrorCode::bad_response,
                           fmt::format("the server's description of {} ({} bytes) is not what the protocol says; is it "
                                       "a server of another version?",
                                       what, body.size())));
}

TopicInfo topic_header(const Layout& layout, ByteReader& reader) {
  TopicInfo topic;
  topic.id = reader.u32();
  topic.created_at = reader.u64();
  topic.partition_count = reader.u32();
  if (layout.topic_settings) {
    topic.expiry = reader.u64();
    topic.compression = reader.u8();
    topic.max_size = reader.u64();
  }
  if (layout.topic_replication) reader.skip(1);
  topic.size = reader.u64();
  topic.messages = reader.u64();
  topic.name = reader.name();
  for (std::size_t i = 0; i < layout.topic_options; ++i) static_cast<void>(reader.block());
  return topic;
}

// So many numbers of four bytes; none where there are fewer bytes.
std::vector<std::uint32_t> numbers(ByteReader& reader, std::uint32_t count) {
  std::vector<std::uint32_t> all;
  if (count > reader.left() / sizeof(std::uint32_t)) {
    reader.skip(reader.left() + 1);
    return all;
  }
  all.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) all.push_back(reader.u32());
  return all;
}

}  // namespace

Result<LoggedIn> read_login(const Layout& layout, std::string_view body) {
  ByteReader reader(body);
  LoggedIn login;
  login.user = reader.u32();
  if (layout.framing == Framing::vsr) {
    login.session = reader.u64();
    login.protocol = ProtocolVersion::unpack(reader.u32());
    login.server_version = reader.name();
  }
  if (reader.failed()) return malformed("the new session", body);
  return login;
}

Result<std::optional<StreamInfo>> read_stream(const Layout& layout, std::string_view body) {
  if (body.empty()) return std::nullopt;
  ByteReader reader(body);
  StreamInfo stream;
  stream.id = reader.u32();
  stream.created_at = reader.u64();
  stream.topic_count = reader.u32();
  stream.size = reader.u64();
  stream.messages = reader.u64();
  stream.name = reader.name();
  for (std::size_t i = 0; i < layout.stream_options; ++i) static_cast<void>(reader.block());
  while (!reader.failed() && !reader.ended()) stream.topics.push_back(topic_header(layout, reader));
  if (reader.failed() || stream.topics.size() != stream.topic_count) return malformed("a stream", body);
  return stream;
}

Result<std::optional<TopicInfo>> read_topic(const Layout& layout, std::string_view body) {
  if (body.empty()) return std::nullopt;
  ByteReader reader(body);
  TopicInfo topic = topic_header(layout, reader);
  if (reader.failed() || topic.partition_count != reader.left() / kPartitionRecord) return malformed("a topic", body);
  topic.partitions.reserve(topic.partition_count);
  for (std::uint32_t i = 0; i < topic.partition_count; ++i) {
    PartitionInfo partition;
    partition.id = reader.u32();
    partition.created_at = reader.u64();
    partition.segments = reader.u32();
    partition.last_offset = reader.offset();
    partition.size = reader.u64();
    partition.messages = reader.u64();
    topic.partitions.push_back(partition);
  }
  if (!reader.ended()) return malformed("a topic", body);
  return topic;
}

Result<std::optional<GroupInfo>> read_group(std::string_view body) {
  if (body.empty()) return std::nullopt;
  ByteReader reader(body);
  GroupInfo group;
  group.id = reader.u32();
  group.partitions = reader.u32();
  const std::uint32_t members = reader.u32();
  group.name = reader.name();
  while (!reader.failed() && !reader.ended()) {
    GroupMember member;
    member.id = reader.u32();
    member.partitions = numbers(reader, reader.u32());
    group.members.push_back(std::move(member));
  }
  if (reader.failed() || group.members.size() != members) return malformed("a consumer group", body);
  return group;
}

Result<std::optional<StoredOffset>> read_offset(std::string_view body) {
  if (body.empty()) return std::nullopt;
  ByteReader reader(body);
  StoredOffset offset;
  offset.partition = reader.u32();
  offset.last_offset = reader.offset();
  offset.stored = reader.offset();
  if (reader.failed() || !reader.ended()) return malformed("a stored offset", body);
  return offset;
}

Result<std::optional<GroupAssignment>> read_assignment(std::string_view body) {
  if (body.empty()) return std::nullopt;
  ByteReader reader(body);
  GroupAssignment assignment;
  assignment.generation = reader.u64();
  assignment.partitions = numbers(reader, reader.u32());
  if (reader.failed() || !reader.ended()) return malformed("a member's partitions", body);
  return assignment;
}

Result<std::vector<ClusterNode>> read_cluster(std::string_view body) {
  ByteReader reader(body);
  static_cast<void>(reader.block());  // the cluster's name
  const std::uint32_t count = reader.u32();
  std::vector<ClusterNode> nodes;
  for (std::uint32_t i = 0; i < count && !reader.failed(); ++i) {
    ClusterNode node;
    node.name = reader.block();
    node.ip = reader.block();
    node.tcp_port = reader.u16();
    reader.skip(3 * sizeof(std::uint16_t));  // ports of other protocols
    node.leader = reader.u8() == 0;
    node.healthy = reader.u8() == 0;
    nodes.push_back(std::move(node));
  }
  if (reader.failed() || !reader.ended()) return malformed("the cluster", body);
  return nodes;
}

Result<std::vector<SendConfirmation>> read_confirmations(std::string_view body) {
  std::vector<SendConfirmation> all;
  // A send that was taken for a repeated one is answered with nothing.
  if (body.empty()) return all;
  ByteReader reader(body);
  const std::uint32_t count = reader.u32();
  for (std::uint32_t i = 0; i < count && !reader.failed(); ++i) {
    SendConfirmation one;
    one.stream = reader.u32();
    one.topic = reader.u32();
    one.partition = reader.u32();
    one.base_offset = reader.u64();
    all.push_back(one);
  }
  if (reader.failed() || !reader.ended()) return malformed("what it has taken", body);
  return all;
}

}  // namespace millrace::iggy
