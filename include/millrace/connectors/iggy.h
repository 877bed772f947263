// SPDX-License-Identifier: Apache-2.0
// Apache Iggy as a source: one lane for each partition that the group assigns, or that is named; positions are kept by
// the server and stored by Millrace alone. And as a sink: records as messages of a topic, acknowledged by the server's
// reply.
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
#include "millrace/sink/sink.h"
#include "millrace/source/source.h"

#pragma GCC visibility push(default)
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

/// Which partition a record goes to. In YAML a word, or `{partition: 3}`.
struct IggyPartitioning {
  enum class Kind {
    balanced,   ///< the server takes its partitions in turn, request by request
    key,        ///< by the record's key, as Iggy's own clients do; records without one as `balanced`
    partition,  ///< always `partition`
  };
  Kind kind = Kind::balanced;
  std::uint32_t partition = 0;
};
template <>
struct OptionForm<IggyPartitioning> {
  static std::string type() { return "balanced|key|{partition: N}"; }
  static std::string text(const IggyPartitioning& partitioning);
  static void read(const ConfigSection& at, IggyPartitioning& out, ConfigProblems& problems);
};

/// What becomes of a header that a message of Iggy has no place for.
enum class IggyUnfitHeader { fail, leave_out };

struct IggySinkOptions : IggyConnectionOptions {
  std::string stream;  ///< required
  std::string topic;   ///< required
  IggyPartitioning partitioning;
  std::string key_header;  ///< empty: the key is not written
  IggyUnfitHeader on_unfit_header = IggyUnfitHeader::fail;
  std::uint64_t create_partitions = 0;  ///< of a topic that is missing; 0: it has to be there
  ByteSize max_record_bytes{10'000'000};
  Duration linger = std::chrono::milliseconds(50);
  ByteSize batch_bytes{1U << 20U};
  std::uint64_t batch_records = 1000;
  std::uint64_t write_concurrency = 2;
  OnWriteFailure on_write_failure = OnWriteFailure::stall;
  std::int64_t max_attempts = 3;
};

class IggySink {
 public:
  [[nodiscard]] static const Schema<IggySinkOptions>& schema();
  [[nodiscard]] static Result<std::unique_ptr<Sink>> make(const ConfigSection& section,
                                                          const BuildContext& context = {});
  [[nodiscard]] static Result<std::unique_ptr<Sink>> make(IggySinkOptions options, const BuildContext& context = {});
  [[nodiscard]] static SinkKind kind();
  /// Fails (config) when `sink` writes to a topic that `source` reads.
  [[nodiscard]] static Result<void> check_not_feeding(const IggySourceOptions& source, const IggySinkOptions& sink);
  /// Fails (config) when both write to one topic, where nobody could tell dead letters from records.
  [[nodiscard]] static Result<void> check_apart(const IggySinkOptions& sink, const IggySinkOptions& letters);
};

}  // namespace millrace
#pragma GCC visibility pop
