// SPDX-License-Identifier: Apache-2.0
// The object-storage connectors: a bounded source that reads every record under a prefix, and a sink that lands records
// as objects. `s3://` and `file://` behave alike.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/base/time.h"
#include "millrace/config/schema.h"
#include "millrace/config/values.h"
#include "millrace/encode/columnar.h"
#include "millrace/encode/encode_spec.h"
#include "millrace/encode/object_name.h"
#include "millrace/encode/route_spec.h"
#include "millrace/encode/row_schema.h"
#include "millrace/framing/framer.h"
#include "millrace/pipeline/registry.h"
#include "millrace/sink/sink.h"
#include "millrace/source/source.h"
#include "millrace/store/write_options.h"

#pragma GCC visibility push(default)
namespace millrace {

enum class ObjectCodec { auto_detect, none, gzip, zstd, bz2, xz, lz4 };  ///< bz2, xz, lz4: see codec_is_built()
enum class OnEmpty { warn, fail };
enum class OnArchived { fail, skip };
enum class OnObjectError { fail, quarantine };
enum class Frozen { below, strict };

/// Defaults are those of the YAML keys of the same names.
struct S3SourceOptions {
  std::string url;  ///< required
  std::uint64_t lanes = 4;
  std::string format = "ndjson";
  struct Csv {
    std::string delimiter = ",";
    std::string quote = "\"";
  } csv;  ///< with format csv only
  ObjectCodec compression = ObjectCodec::auto_detect;
  struct Checkpoint {
    std::string url;  ///< required
    std::map<std::string, std::string> store;
    Duration timeout = std::chrono::seconds(10);
    Duration owner_timeout = std::chrono::seconds(30);
  } checkpoint;
  ByteSize prefetch_bytes{8U << 20U};
  ByteSize chunk_bytes{512U << 10U};
  ByteSize max_record_bytes{64U << 20U};
  std::uint64_t requests_in_flight = 64;
  std::vector<std::string> include;  ///< globs on the key below the prefix; empty: all
  std::vector<std::string> exclude;
  std::string start_after;
  std::optional<ByteSize> min_size;  ///< stored bytes
  std::optional<ByteSize> max_size;
  std::string modified_after;   ///< RFC 3339, inclusive; empty: any
  std::string modified_before;  ///< exclusive
  /// Static sharding: this process takes the keys of one part, all parts together the whole prefix.
  struct Shard {
    std::uint64_t index = 0;  ///< 0 .. count-1
    std::uint64_t count = 1;
  };
  std::optional<Shard> shard;  ///< nothing: one process reads everything
  OnEmpty on_empty = OnEmpty::warn;
  OnArchived on_archived = OnArchived::fail;
  OnObjectError on_object_error = OnObjectError::fail;
  Frozen frozen = Frozen::below;
  std::int64_t zstd_window_log_max = 27;
  ByteSize xz_memory_limit{128U << 20U};
  std::string name;  ///< `{topic}` of its records; empty: "s3-" and eight hex digits of a hash of the identity
  std::map<std::string, std::string> store;
  ReceiptRequest receipt;  ///< no key of the section: `receipt` stands at the top of a pipeline file
};

class S3Source {
 public:
  [[nodiscard]] static const Schema<S3SourceOptions>& schema();
  [[nodiscard]] static Result<std::unique_ptr<Source>> make(const ConfigSection& section,
                                                            const BuildContext& context = {});
  [[nodiscard]] static Result<std::unique_ptr<Source>> make(S3SourceOptions options, const BuildContext& context = {});
  [[nodiscard]] static SourceKind kind();
};

enum class FileRotation { size, messages };
enum class RotateOn { none, hour, day };
enum class FileCompression { none, gzip, zstd };
enum class Sse { none, s3, kms };  ///< who encrypts the objects where they lie
enum class OutputFormat { json_lines, json_array, raw, parquet };
enum class IfExists { verify, overwrite, fail };
enum class Compat { none, iggy };  ///< whose defaults and rotation
enum class Delivery { at_least_once, exactly_once };
enum class TimeSource { message, ingest };  ///< of what the time variables of a key tell

struct S3SinkOptions {
  Compat compat = Compat::none;
  std::string url;  ///< or bucket and prefix
  std::string bucket;
  std::string prefix;
  std::string path_template = "{stream}/{topic}/{date}/{hour}";
  TimeSource time_source = TimeSource::message;
  FileRotation file_rotation = FileRotation::size;
  ByteSize max_file_size{8U << 20U};
  std::uint64_t max_messages_per_file = 0;  ///< required with `messages`
  std::optional<Duration> max_file_age;     ///< nothing: five minutes, or never with compat iggy; 0: never
  Duration max_file_idle{0};                ///< 0: never
  RotateOn rotate_on = RotateOn::none;
  /// Of a partition, with rotate_on or a template that keeps records apart; nothing: 8, or 64 with such a template.
  std::optional<std::uint64_t> max_open_files;
  FileCompression compression = FileCompression::none;
  std::optional<std::int64_t> compression_level;  ///< nothing: the codec's own
  std::optional<std::string> compression_suffix;  ///< nothing: .gz or .zst
  ByteSize buffer_memory{256U << 20U};            ///< of all open files together
  std::string spool_dir;                          ///< empty: files that have no room are written early
  ByteSize spool_limit{0};                        ///< 0: none
  OutputFormat output_format = OutputFormat::json_lines;
  bool include_metadata = true;
  bool include_headers = false;
  bool wrap = true;  ///< false: payloads stand alone, without the wrapper object
  bool mark_encoding = false;
  std::int64_t timestamp_precision = 0;  ///< digits of a second: 0, 3, 6, 9
  std::optional<std::string> delimiter;  ///< raw: required but with compat iggy; "" allowed
  std::string extension;                 ///< empty: jsonl, json, bin or parquet
  struct Parquet {
    std::vector<std::string> schema;  ///< parse_column() of each; empty: inferred, and kept beside the objects
    UnknownColumns on_unknown_field = UnknownColumns::keep;
    ByteSize row_group_size{32U << 20U};  ///< of values in memory
    std::uint64_t row_group_rows = 1U << 20U;
  } parquet;  ///< with output_format parquet only
  NameEncoding name_encoding = NameEncoding::replace;
  RouteSpec::OnMissing on_missing_field = RouteSpec::OnMissing::fallback;
  std::string null_fallback = "__HIVE_DEFAULT_PARTITION__";
  Delivery delivery = Delivery::at_least_once;
  std::optional<IfExists> if_exists;  ///< nothing: verify, or overwrite with compat iggy
  std::int64_t max_attempts = 3;
  Duration retry_delay = std::chrono::seconds(1);
  Duration upload_deadline{0};  ///< of the tries of one object, with on_upload_failure fail or drop; 0: none
  OnWriteFailure on_upload_failure = OnWriteFailure::stall;
  std::uint64_t upload_concurrency = 4;
  ByteSize multipart_threshold{64U << 20U};  ///< larger objects are sent in parts
  ByteSize part_size{16U << 20U};
  bool cleanup_uploads = false;
  std::string storage_class;  ///< empty, here and below: the bucket's own rule
  Sse sse = Sse::none;
  std::string sse_kms_key_id;
  std::optional<bool> sse_bucket_key;
  std::string acl;
  std::map<std::string, std::string> tags;
  std::map<std::string, std::string> metadata;
  std::string content_type;  ///< empty: by output_format and compression
  std::string content_encoding;
  ChecksumKind checksum = ChecksumKind::none;
  bool probe = true;
  std::string probe_key;  ///< empty: <prefix>/.millrace-probe
  // Shorthand for store options, as the sink's users know them; the same names in `store` may not be given twice.
  std::string region;
  std::string endpoint;
  std::optional<bool> path_style;
  std::string access_key_id;
  Secret secret_access_key;
  Secret session_token;
  std::map<std::string, std::string> store;
};

class S3Sink {
 public:
  [[nodiscard]] static const Schema<S3SinkOptions>& schema();
  /// `parquet`: who writes output_format parquet (millrace/formats/parquet.h); without it that format is refused.
  [[nodiscard]] static Result<std::unique_ptr<Sink>> make(const ConfigSection& section,
                                                          const BuildContext& context = {},
                                                          const ColumnarKind& parquet = {});
  [[nodiscard]] static Result<std::unique_ptr<Sink>> make(S3SinkOptions options, const BuildContext& context = {},
                                                          const ColumnarKind& parquet = {});
  [[nodiscard]] static SinkKind kind(const ColumnarKind& parquet = {});
  /// Fails (config) when objects of `sink` would lie under the prefix of `source`, which would then read its own
  /// output.
  [[nodiscard]] static Result<void> check_not_feeding(const S3SourceOptions& source, const S3SinkOptions& sink);
  /// Fails (config) when `letters` wants of a dead letter what it has not: the values of its record.
  [[nodiscard]] static Result<void> check_holds_letters(const S3SinkOptions& letters);
  /// Fails (config) when dead letters would lie among the objects of `sink`, or the other way round.
  [[nodiscard]] static Result<void> check_apart(const S3SinkOptions& sink, const S3SinkOptions& letters);
  /// Fails (config) when `sink` is to write exactly once and cannot, beside a source with this Source::replay_gap, a
  /// receipt, or other sinks (dead letters too).
  [[nodiscard]] static Result<void> check_exactly_once(const S3SinkOptions& sink, const std::string& replay_gap,
                                                       bool receipt, bool other_sinks);
};

}  // namespace millrace
#pragma GCC visibility pop
