// SPDX-License-Identifier: Apache-2.0
#include "connectors/iggy/connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace millrace::iggy_source {
namespace {

iggy::Credentials credentials_of(const IggyConnectionOptions& options) {
  return {options.username, options.password.reveal(), options.token.reveal(), options.token_file};
}

// Host and port, the host in small letters.
std::pair<std::string, std::string> parts_of(const std::string& address) {
  const std::size_t colon = std::min(address.rfind(':'), address.size());
  std::string host = address.substr(0, colon);
  std::ranges::transform(host, host.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  constexpr std::array<std::string_view, 3> kHere{"localhost", "127.0.0.1", "[::1]"};
  if (std::ranges::find(kHere, host) != kHere.end()) host = kHere.front();
  return {std::move(host), address.substr(colon)};
}

}  // namespace

void problem_of(const ConfigSection& at, const char* key, const std::string& text, ConfigProblems& problems) {
  const ConfigSection child = at.child(key);
  problems.add(child.where(), fmt::format("{}: {}", child.exists() ? child.path() : at.path() + "." + key, text));
}

void check_connection(const IggyConnectionOptions& options, const ConfigSection& at, ConfigProblems& problems) {
  const auto version = iggy::parse_protocol_version(options.protocol_version);
  if (!version) return problem_of(at, "protocol_version", version.error().message(), problems);
  iggy::ClientOptions client;
  client.address = options.address;
  client.credentials = credentials_of(options);
  client.protocol = options.protocol;
  client.version = *version;
  if (auto made = iggy::Client::make(client); !made) problem_of(at, "address", made.error().message(), problems);
}

iggy::ClientOptions connection_of(const IggyConnectionOptions& options, Clock* clock, Random* random,
                                  const Logger& log) {
  iggy::ClientOptions client;
  client.address = options.address;
  client.credentials = credentials_of(options);
  client.tls = {options.tls.enabled, options.tls.server_name, options.tls.ca_file, options.tls.verify};
  client.protocol = options.protocol;
  client.version = iggy::parse_protocol_version(options.protocol_version).value_or(iggy::ProtocolVersion());
  client.request_timeout = options.request_timeout;
  client.heartbeat = options.heartbeat;
  client.max_reply_bytes = options.max_reply_bytes.bytes;
  client.verify_checksums = options.verify_checksums;
  client.clock = clock;
  client.random = random;
  client.log = log;
  return client;
}

bool same_address(const std::string& one, const std::string& other) { return parts_of(one) == parts_of(other); }

}  // namespace millrace::iggy_source
