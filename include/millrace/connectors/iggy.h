// SPDX-License-Identifier: Apache-2.0
// Apache Iggy as a source: one lane for each partition that the group assigns, or that is named; positions are kept by
// the server and stored by Millrace alone.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/base/time.h"
#include "millrace/config/schema.h"
#include "millrace/config/values.h"
#include "millrace/connectors/stream.h"
#include "millrace/iggy_client/protocol.h"
#include "millrace/pipeline/registry.h"
#include "millrace/source/source.h"

namespace millrace {

/// Where an Iggy server is and who logs in. Defaults are those of the YAML keys of the same names.
struct IggyConnectionOptions {
  std::string address;  ///< required: host:port
  std::string username;
  Secret password;
  Secret token;
  std::string token_file;
  struct Tls {
    bool enabled = false;
    std::string server_name;
    std::string ca_file;
    bool verify = true;
  } tls;
  iggy::ProtocolChoice protocol = iggy::ProtocolChoice::auto_detect;
  std::string protocol_version = "0.11.0";
  Duration connect_timeout = std::chrono::seconds(30);
  Duration request_timeout = std::chrono::seconds(30);
  Duration heartbeat = std::chrono::seconds(5);
  ByteSize max_reply_bytes{64U << 20U};
  bool verify_checksums = true;
};

struct IggySourceOptions : IggyConnectionOptions {
  std::string stream;               ///< required
  std::vector<std::string> topics;  ///< required
  std::string consumer_group;       ///< this or consumer: whom positions are stored for
  std::string member;               ///< of the group; empty: somebody new at each start
  std::string consumer;
  std::vector<std::string> partitions;  ///< with consumer; empty: all
  std::uint64_t batch_length = 1000;
  Duration poll_interval = std::chrono::milliseconds(5);
  ByteSize prefetch_bytes{8U << 20U};  ///< of each partition
  std::uint64_t connections = 2;
  StreamStart start;
  OnPositionLost on_position_lost = OnPositionLost::fail;
  bool bounded = false;
};

class IggySource {
 public:
  [[nodiscard]] static const Schema<IggySourceOptions>& schema();
  [[nodiscard]] static Result<std::unique_ptr<Source>> make(const ConfigSection& section,
                                                            const BuildContext& context = {});
  [[nodiscard]] static Result<std::unique_ptr<Source>> make(IggySourceOptions options,
                                                            const BuildContext& context = {});
  [[nodiscard]] static SourceKind kind();
};

}  // namespace millrace
