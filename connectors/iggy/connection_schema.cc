// SPDX-License-Identifier: Apache-2.0
#include "connectors/iggy/connection_schema.h"

namespace millrace::iggy_source {

Schema<IggyConnectionOptions::Tls> tls_schema() {
  using Tls = IggyConnectionOptions::Tls;
  Schema<Tls> s("tls", "TLS to an Iggy server.");
  s.optional("enabled", &Tls::enabled, "Whether the server speaks TLS on its port.");
  s.optional("server_name", &Tls::server_name, "Whom its certificate has to name.",
             {.example = "iggy.example.com", .default_text = "the host in address"});
  s.optional("ca_file", &Tls::ca_file, "PEM file with the authorities that are trusted.",
             {.example = "/etc/ssl/iggy.pem", .default_text = "those that the system trusts"});
  s.optional("verify", &Tls::verify, "False: any certificate is taken, which keeps nobody out.");
  return s;
}

}  // namespace millrace::iggy_source
