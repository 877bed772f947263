// SPDX-License-Identifier: Apache-2.0
#include "connectors/iggy_client/vsr_frame.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <cstring>

#include "connectors/iggy_client/byte_reader.h"

namespace millrace::iggy {
namespace {

enum Place : std::size_t {
  size_at = 48,
  command_at = 60,
  client_at = 128,
  request_checksum_at = 144,
  request_at = 168,
  operation_at = 176,
  session_at = 184,
  code_at = 196,
  evicted_newest_at = 144,
  evicted_oldest_at = 148,
  evicted_reason_at = 255,
  answered_request_at = 200,
  status_at = 216,
};

constexpr std::uint8_t kRequest = 5;
constexpr std::uint8_t kReply = 8;
constexpr std::uint8_t kEviction = 13;

template <class T>
void put(char* to, std::size_t at, T value) noexcept {
  std::memcpy(to + at, &value, sizeof value);
}

// The others go unstamped, as a server accepts everywhere.
bool is_stamped(Operation operation) noexcept {
  return operation == Operation::log_in || operation == Operation::log_out || is_metadata(operation);
}

}  // namespace

void write_vsr_header(Command command, const RequestIds& ids, std::string_view body, char* to) noexcept {
  const Operation operation = operation_of(command);
  std::memset(to, 0, kVsrHeader);
  put(to, size_at, static_cast<std::uint32_t>(kVsrHeader + body.size()));
  put(to, command_at, kRequest);
  put(to, client_at, ids.client);
  if (is_stamped(operation)) put(to, request_checksum_at, std::uint64_t{XXH3_64bits(body.data(), body.size())});
  put(to, request_at, ids.request);
  put(to, operation_at, operation);
  put(to, session_at, ids.session);
  if (operation == Operation::read) put(to, code_at, static_cast<std::uint32_t>(command));
}

Result<ReplyHead> read_vsr_header(std::string_view header, std::size_t max_bytes) {
  const auto size = load<std::uint32_t>(header, size_at);
  const auto command = load<std::uint8_t>(header, command_at);
  if (size < kVsrHeader || (command != kReply && command != kEviction)) {
    return fail(Error::retryable(ErrorCode::bad_response,
                                 fmt::format("the server's answer is no reply (kind {}, {} bytes); does it speak the "
                                             "vsr protocol?",
                                             command, size)));
  }
  if (size > max_bytes) {
    return fail(Error::retryable(
        ErrorCode::too_large,
        fmt::format("the server's reply has {} bytes, more than the {} that are allowed", size, max_bytes)));
  }
  ReplyHead head;
  head.body = size - kVsrHeader;
  if (command == kEviction) {
    head.eviction = Eviction{load<std::uint8_t>(header, evicted_reason_at),
                             ProtocolVersion::unpack(load<std::uint32_t>(header, evicted_oldest_at)),
                             ProtocolVersion::unpack(load<std::uint32_t>(header, evicted_newest_at))};
    return head;
  }
  head.status = load<std::uint32_t>(header, status_at);
  head.request = load<std::uint64_t>(header, answered_request_at);
  return head;
}

Result<VsrPayload> read_vsr_results(Operation operation, std::string_view body) {
  const bool has_results = is_metadata(operation) || operation == Operation::store_offset ||
                           operation == Operation::delete_offset || (operation == Operation::log_in && !body.empty());
  if (!has_results) return VsrPayload{0, body};
  ByteReader reader(body);
  const std::uint32_t count = reader.u32();
  // The index, and what came of it.
  const std::string_view results = count <= body.size() ? reader.take(std::size_t{count} * 8) : std::string_view();
  if (reader.failed() || results.size() != std::size_t{count} * 8) {
    return fail(Error::retryable(
        ErrorCode::bad_response,
        fmt::format("the server's reply of {} bytes is cut off in its {} results", body.size(), count)));
  }
  return VsrPayload{count == 0 ? 0 : load<std::uint32_t>(results, 4), body.substr(reader.at())};
}

}  // namespace millrace::iggy
