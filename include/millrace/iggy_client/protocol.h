// SPDX-License-Identifier: Apache-2.0
// The words that requests to an Iggy server are made of. Values; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "millrace/base/result.h"

#pragma GCC visibility push(default)
namespace millrace::iggy {

/// How requests and replies are framed. The two are not compatible in either direction.
enum class Framing {
  classic,  ///< servers up to 0.8: headers of 8 bytes
  vsr,      ///< servers from 0.9 on: headers of 256 bytes
};
[[nodiscard]] std::string_view to_string(Framing) noexcept;

/// What a user asks for; `auto_detect` finds out with one ping on a connection of its own.
enum class ProtocolChoice { auto_detect, classic, vsr };

/// Of the vsr framing. A server of 0.x takes exactly its own minor number.
struct ProtocolVersion {
  std::uint32_t major = 0;
  std::uint32_t minor = 11;
  std::uint32_t patch = 0;
  [[nodiscard]] constexpr std::uint32_t packed() const noexcept { return major << 20U | minor << 10U | patch; }
  [[nodiscard]] static constexpr ProtocolVersion unpack(std::uint32_t packed) noexcept {
    return {packed >> 20U, packed >> 10U & 1023U, packed & 1023U};
  }
  friend bool operator==(const ProtocolVersion&, const ProtocolVersion&) = default;
};
/// "0.11.0".
[[nodiscard]] std::string to_string(ProtocolVersion);
/// Fails (config) unless `text` is three numbers with dots between them.
[[nodiscard]] Result<ProtocolVersion> parse_protocol_version(std::string_view text);

/// Sixteen bytes, of which not all are zero: who a client of the vsr framing is. Group memberships belong to it.
using ClientId = std::array<std::uint8_t, 16>;

/// A stream, topic, group or consumer, by its number or its name (1 to 255 bytes).
class Identifier {
 public:
  Identifier() = default;
  [[nodiscard]] static Identifier number(std::uint32_t number) { return {number, {}}; }
  [[nodiscard]] static Identifier name(std::string name) { return {std::nullopt, std::move(name)}; }
  [[nodiscard]] const std::optional<std::uint32_t>& as_number() const noexcept { return number_; }
  [[nodiscard]] const std::string& as_name() const noexcept { return name_; }
  friend bool operator==(const Identifier&, const Identifier&) = default;

 private:
  Identifier(std::optional<std::uint32_t> number, std::string name) : number_(number), name_(std::move(name)) {}
  std::optional<std::uint32_t> number_ = 0;
  std::string name_;
};
/// As messages show it: "7", or the name with what cannot be shown escaped.
[[nodiscard]] std::string to_string(const Identifier&);

/// Whose offsets are meant, and who polls. A server keeps named individual consumers by a hash of 32 bits, so two names
/// may share a place; groups have no such risk.
struct Consumer {
  enum class Kind : std::uint8_t { individual = 1, group = 2 };
  Kind kind = Kind::individual;
  Identifier id;
  [[nodiscard]] static Consumer individual(Identifier id) { return {Kind::individual, std::move(id)}; }
  [[nodiscard]] static Consumer group(Identifier id) { return {Kind::group, std::move(id)}; }
};

/// One partition's home.
struct TopicName {
  Identifier stream;
  Identifier topic;
  friend bool operator==(const TopicName&, const TopicName&) = default;
};

/// Where a poll begins.
struct PollFrom {
  enum class Kind : std::uint8_t { offset = 1, timestamp = 2, first = 3, last = 4, next = 5 };
  Kind kind = Kind::offset;
  std::uint64_t value = 0;  ///< an offset, or microseconds since the epoch
  [[nodiscard]] static PollFrom offset(std::uint64_t offset) { return {Kind::offset, offset}; }
  [[nodiscard]] static PollFrom timestamp(std::uint64_t micros) { return {Kind::timestamp, micros}; }
  [[nodiscard]] static PollFrom first() { return {Kind::first, 0}; }
  [[nodiscard]] static PollFrom last() { return {Kind::last, 0}; }
};

/// Which partition takes the messages of a send.
struct Partitioning {
  enum class Kind : std::uint8_t { balanced = 1, partition = 2, key = 3 };
  Kind kind = Kind::balanced;
  std::uint32_t partition = 0;
  std::string key;  ///< 1 to 255 bytes
  [[nodiscard]] static Partitioning balanced() { return {}; }
  [[nodiscard]] static Partitioning to(std::uint32_t partition) { return {Kind::partition, partition, {}}; }
  [[nodiscard]] static Partitioning by(std::string key) { return {Kind::key, 0, std::move(key)}; }
};

}  // namespace millrace::iggy
#pragma GCC visibility pop
