// SPDX-License-Identifier: Apache-2.0
// The keys that say where an Iggy server is and who logs in, for every connector that needs them.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "millrace/config/schema.h"
#include "millrace/connectors/iggy.h"

namespace millrace {

template <>
struct EnumNames<iggy::ProtocolChoice> {
  static constexpr std::array<std::pair<std::string_view, iggy::ProtocolChoice>, 3> names{
      {{"auto", iggy::ProtocolChoice::auto_detect},
       {"classic", iggy::ProtocolChoice::classic},
       {"vsr", iggy::ProtocolChoice::vsr}}};
};

namespace iggy_source {

[[nodiscard]] Schema<IggyConnectionOptions::Tls> tls_schema();

/// Where the server is and who logs in, in the order of the page. `Options` derives from IggyConnectionOptions.
template <class Options>
void add_connection_keys(Schema<Options>& s) {
  const auto of = []<class T>(T IggyConnectionOptions::* member) -> T Options::* { return member; };
  s.required("address", of(&IggyConnectionOptions::address), "Host and port of the server's TCP transport.",
             {.example = "127.0.0.1:8090"});
  s.optional("username", of(&IggyConnectionOptions::username),
             "With `password`: who logs in. Or `token`, or `token_file`.", {.example = "iggy"});
  s.optional("password", of(&IggyConnectionOptions::password), "Of `username`.", {.example = "${IGGY_PASSWORD}"});
  s.optional("token", of(&IggyConnectionOptions::token), "A personal access token.", {.example = "${IGGY_TOKEN}"});
  s.optional("token_file", of(&IggyConnectionOptions::token_file),
             "A file that holds the token; read at each login, so that it may be replaced.",
             {.example = "/run/secrets/iggy"});
  s.nested("tls", of(&IggyConnectionOptions::tls), tls_schema(), "TLS to the server.");
  s.optional(
      "protocol", of(&IggyConnectionOptions::protocol),
      "`classic`: servers up to 0.8; `vsr`: from 0.9 on; `auto` finds out with one ping at the first connection, "
      "and says which.");
  s.optional("protocol_version", of(&IggyConnectionOptions::protocol_version),
             "Which version of vsr is announced; a server takes its own minor number only.");
  s.optional(
      "connect_timeout", of(&IggyConnectionOptions::connect_timeout),
      "How long the server may be away, and stream and topic missing, when a run begins. Later on they are waited "
      "for without end.",
      {.min = 0.1, .max = 86400});
  s.optional("request_timeout", of(&IggyConnectionOptions::request_timeout),
             "How long the server may take to answer before the connection is made anew.", {.min = 0.1, .max = 3600});
}

/// The keys behind those, for who reads.
template <class Options>
void add_reading_keys(Schema<Options>& s) {
  const auto of = []<class T>(T IggyConnectionOptions::* member) -> T Options::* { return member; };
  s.optional("heartbeat", of(&IggyConnectionOptions::heartbeat),
             "How often the server is shown that this process is there, and asked which partitions it has.",
             {.min = 0.02, .max = 30});
  s.optional("max_reply_bytes", of(&IggyConnectionOptions::max_reply_bytes),
             "Largest reply that is taken; no message may be larger.", {.min = 64 << 10U, .max = 1U << 30U});
  s.optional("verify_checksums", of(&IggyConnectionOptions::verify_checksums),
             "Whether each message is held against its checksum.");
}

}  // namespace iggy_source
}  // namespace millrace
