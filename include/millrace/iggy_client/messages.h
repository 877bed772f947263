// SPDX-License-Identifier: Apache-2.0
// What a server says: messages, and the facts of streams, topics, groups and offsets. Values; one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/bytes.h"
#include "millrace/base/time.h"

#pragma GCC visibility push(default)
namespace millrace::iggy {

/// 128 bits, low half first. A server makes one up for the id 0 of the classic framing.
struct MessageId {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  friend bool operator==(const MessageId&, const MessageId&) = default;
};
/// 32 hexadecimal digits.
[[nodiscard]] std::string to_string(MessageId);

/// One message of a poll. Borrows the PolledMessages it is in.
struct Message {
  std::string_view payload;
  std::string_view user_headers;  ///< as they came: no server checks them (decode_user_headers does)
  MessageId id;
  std::uint64_t offset = 0;
  std::uint64_t timestamp = 0;         ///< microseconds; when the server took it
  std::uint64_t origin_timestamp = 0;  ///< microseconds; when the producer made it
};

/// The answer to a poll; owns the bytes. Given to the next poll it lends its memory to it.
class PolledMessages {
 public:
  /// The server says that the group's member may not read this partition (any more).
  [[nodiscard]] bool not_ours() const noexcept { return not_ours_; }
  /// Of the classic framing, with not_ours(): as this client is no member of the group. The other does not tell.
  [[nodiscard]] bool not_a_member() const noexcept { return not_a_member_; }
  [[nodiscard]] std::uint32_t partition() const noexcept { return partition_; }
  /// Offset of the partition's last message. Nothing behind a poll that gave no messages: a server also answers so when
  /// something went wrong, with 0.
  [[nodiscard]] std::optional<std::uint64_t> last_offset() const noexcept {
    return messages_.empty() ? std::nullopt : std::optional(last_offset_);
  }
  /// What stands in the reply in its place, messages or not: with partition(), how a server of the classic framing
  /// tells a partition that is ours and empty from one that is not.
  [[nodiscard]] std::uint64_t said_offset() const noexcept { return last_offset_; }
  [[nodiscard]] std::span<const Message> messages() const noexcept { return messages_; }
  /// Memory that is held, in bytes.
  [[nodiscard]] std::size_t memory() const noexcept {
    return body_.capacity() + messages_.capacity() * sizeof(Message);
  }
  /// kBytePadding bytes may be read behind every payload.

 private:
  friend class PollReplyDecoder;
  friend class Client;
  ByteBuffer body_;
  std::vector<Message> messages_;
  std::uint64_t last_offset_ = 0;
  std::uint32_t partition_ = 0;
  bool not_ours_ = false;
  bool not_a_member_ = false;
};

/// One message to send. Borrows.
struct OutgoingMessage {
  std::string_view payload;
  std::string_view user_headers;  ///< from encode_user_header
  MessageId id;                   ///< 0: a random one is made
  std::uint64_t origin_timestamp = 0;
};

/// What a server takes of one message at most, in bytes.
inline constexpr std::size_t kMaxPayload = 64'000'000;
inline constexpr std::size_t kMaxUserHeaders = 100'000;

/// Where a send went; the classic framing does not say.
struct SendConfirmation {
  std::uint32_t stream = 0;
  std::uint32_t topic = 0;
  std::uint32_t partition = 0;
  std::uint64_t base_offset = 0;
  friend bool operator==(const SendConfirmation&, const SendConfirmation&) = default;
};

struct PartitionInfo {
  std::uint32_t id = 0;
  std::uint64_t created_at = 0;  ///< microseconds
  std::uint32_t segments = 0;
  std::uint64_t last_offset = 0;  ///< 0 both for an empty partition and for one message
  std::uint64_t size = 0;
  std::uint64_t messages = 0;
  friend bool operator==(const PartitionInfo&, const PartitionInfo&) = default;
};

struct TopicInfo {
  std::uint32_t id = 0;
  std::uint64_t created_at = 0;
  std::uint32_t partition_count = 0;
  std::uint64_t expiry = 0;
  std::uint8_t compression = 0;
  std::uint64_t max_size = 0;
  std::uint64_t size = 0;
  std::uint64_t messages = 0;
  std::string name;
  std::vector<PartitionInfo> partitions;  ///< empty where the topic stands in a list of topics
};

struct StreamInfo {
  std::uint32_t id = 0;
  std::uint64_t created_at = 0;
  std::uint32_t topic_count = 0;
  std::uint64_t size = 0;
  std::uint64_t messages = 0;
  std::string name;
  std::vector<TopicInfo> topics;
};

struct GroupMember {
  std::uint32_t id = 0;  ///< of the classic framing: a count within the group, which no client can find itself by
  std::vector<std::uint32_t> partitions;
  friend bool operator==(const GroupMember&, const GroupMember&) = default;
};
struct GroupInfo {
  std::uint32_t id = 0;
  std::uint32_t partitions = 0;
  std::string name;
  std::vector<GroupMember> members;
};

struct StoredOffset {
  std::uint32_t partition = 0;
  std::uint64_t last_offset = 0;  ///< of the partition
  std::uint64_t stored = 0;       ///< the last message processed, not the next one
  friend bool operator==(const StoredOffset&, const StoredOffset&) = default;
};

/// What a member of a group may read.
struct GroupAssignment {
  std::uint64_t generation = 0;  ///< rises with every change
  std::vector<std::uint32_t> partitions;
  friend bool operator==(const GroupAssignment&, const GroupAssignment&) = default;
};

struct ClusterNode {
  std::string name;
  std::string ip;
  std::uint16_t tcp_port = 0;
  bool leader = false;
  bool healthy = false;
  friend bool operator==(const ClusterNode&, const ClusterNode&) = default;
};

}  // namespace millrace::iggy
#pragma GCC visibility pop
