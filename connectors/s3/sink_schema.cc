// SPDX-License-Identifier: Apache-2.0
// The keys of `sink: {s3: ...}`, as data.
#include <array>
#include <utility>

#include "connectors/s3/sink_options.h"
#include "millrace/connectors/write_failure.h"

namespace millrace {

template <>
struct EnumNames<FileRotation> {
  static constexpr std::array<std::pair<std::string_view, FileRotation>, 2> names{
      {{"size", FileRotation::size}, {"messages", FileRotation::messages}}};
};
template <>
struct EnumNames<RotateOn> {
  static constexpr std::array<std::pair<std::string_view, RotateOn>, 3> names{
      {{"none", RotateOn::none}, {"hour", RotateOn::hour}, {"day", RotateOn::day}}};
};
template <>
struct EnumNames<FileCompression> {
  static constexpr std::array<std::pair<std::string_view, FileCompression>, 3> names{
      {{"none", FileCompression::none}, {"gzip", FileCompression::gzip}, {"zstd", FileCompression::zstd}}};
};
template <>
struct EnumNames<Sse> {
  static constexpr std::array<std::pair<std::string_view, Sse>, 5> names{
      {{"none", Sse::none}, {"s3", Sse::s3}, {"AES256", Sse::s3}, {"kms", Sse::kms}, {"aws:kms", Sse::kms}}};
};
template <>
struct EnumNames<ChecksumKind> {
  static constexpr std::array<std::pair<std::string_view, ChecksumKind>, 5> names{
      {{"none", ChecksumKind::none},
       {"crc32", ChecksumKind::crc32},
       {"crc32c", ChecksumKind::crc32c},
       {"crc64nvme", ChecksumKind::crc64nvme},
       {"sha256", ChecksumKind::sha256}}};
};
template <>
struct EnumNames<OutputFormat> {
  static constexpr std::array<std::pair<std::string_view, OutputFormat>, 6> names{
      {{"json_lines", OutputFormat::json_lines},
       {"jsonl", OutputFormat::json_lines},
       {"jsonlines", OutputFormat::json_lines},
       {"json_array", OutputFormat::json_array},
       {"raw", OutputFormat::raw},
       {"parquet", OutputFormat::parquet}}};
};
template <>
struct EnumNames<UnknownColumns> {
  static constexpr std::array<std::pair<std::string_view, UnknownColumns>, 3> names{
      {{"keep", UnknownColumns::keep}, {"ignore", UnknownColumns::ignore}, {"fail", UnknownColumns::fail}}};
};
template <>
struct EnumNames<IfExists> {
  static constexpr std::array<std::pair<std::string_view, IfExists>, 3> names{
      {{"verify", IfExists::verify}, {"overwrite", IfExists::overwrite}, {"fail", IfExists::fail}}};
};
template <>
struct EnumNames<Delivery> {
  static constexpr std::array<std::pair<std::string_view, Delivery>, 2> names{
      {{"at_least_once", Delivery::at_least_once}, {"exactly_once", Delivery::exactly_once}}};
};
template <>
struct EnumNames<NameEncoding> {
  static constexpr std::array<std::pair<std::string_view, NameEncoding>, 2> names{
      {{"replace", NameEncoding::replace}, {"percent", NameEncoding::percent}}};
};
template <>
struct EnumNames<Compat> {
  static constexpr std::array<std::pair<std::string_view, Compat>, 2> names{
      {{"none", Compat::none}, {"iggy", Compat::iggy}}};
};
template <>
struct EnumNames<RouteSpec::OnMissing> {
  static constexpr std::array<std::pair<std::string_view, RouteSpec::OnMissing>, 2> names{
      {{"fallback", RouteSpec::OnMissing::fallback}, {"fail", RouteSpec::OnMissing::fail}}};
};
template <>
struct EnumNames<TimeSource> {
  static constexpr std::array<std::pair<std::string_view, TimeSource>, 2> names{
      {{"message", TimeSource::message}, {"ingest", TimeSource::ingest}}};
};

namespace s3_sink {
namespace {

using Options = S3SinkOptions;

constexpr double kMiB = 1024.0 * 1024;
constexpr double kSinglePut = 5.0 * 1024 * kMiB;
constexpr double kLargestObject = 5.0 * 1024 * 1024 * kMiB;

void add_place(Schema<Options>& s) {
  s.optional("url", &Options::url, "Where objects go: bucket and prefix, or a folder.",
             {.example = "s3://my-data-lake/iggy/raw"});
  s.optional("bucket", &Options::bucket, "The bucket, instead of url. It is never created.");
  s.optional("prefix", &Options::prefix, "Stands in front of every key; with bucket.", {.example = "iggy/raw"});
  s.optional(
      "path_template", &Options::path_template,
      "The keys' middle part. Variables: {stream} {topic} {partition} {date} {hour} {timestamp} {year} {month} "
      "{day} {minute} {start_offset} {end_offset} {uuid} {object} {object.dir} {object.name} {object.stem} {key} "
      "{header.NAME} {field.NAME} {field.OUTER.INNER}. Times are those of a file's first record, in UTC (see "
      "time_source). {uuid} is new for each file and the same over its retries, not over a replay. With an "
      "{object} variable no file holds records of two objects; with {key}, {header.NAME} or {field.NAME}, which is "
      "one of a JSON document, no file holds records of two values (see max_open_files). {topic}, {object} or "
      "{uuid} is required.");
  s.optional(
      "on_missing_field", &Options::on_missing_field,
      "With {key}, {header.NAME} or {field.NAME}: what becomes of a record without that value: no such field, "
      "null, an empty text, an object or array, no JSON, or more bytes in a key than there is room for (`millrace "
      "explain` says how many, 255 at most). fallback: "
      "null_fallback stands in its place, counted (etl_operator_route_fallbacks_total). fail: a bad record, with "
      "which decode's on_error deals.");
  s.optional("null_fallback", &Options::null_fallback,
             "Stands in keys for a value that a record lacks. Hive, Spark and Arrow read the default as null.");
  s.optional(
      "time_source", &Options::time_source,
      "Where the time variables come from. message: the time that comes with the file's first record: its own in "
      "a stream; of a backfill the last-modified of its object; where a record has none, its arrival. ingest: "
      "the arrival of the file's first record, whatever it says of itself, so that a replay may get other keys.");
  s.optional("extension", &Options::extension, "Ends the keys, without a dot.",
             {.example = "ndjson", .default_text = "jsonl, json, bin or parquet, by output_format"});
  s.optional("name_encoding", &Options::name_encoding,
             "What becomes of characters of names other than ASCII letters, digits, '.', '_' and '-': replaced by '_', "
             "or percent-encoded, which keeps different names different.");
}

void add_rotation(Schema<Options>& s) {
  s.optional(
      "compat", &Options::compat,
      "iggy: as Apache Iggy's S3 sink does it. Only the limit that file_rotation names ends a file, and "
      "max_file_size counts records without newlines, commas and brackets; no file ends for its age, keys that are "
      "taken are overwritten, raw puts nothing between payloads, unless max_file_age, if_exists or delimiter say "
      "otherwise. Records are still acknowledged only when they are durable.");
  s.optional("file_rotation", &Options::file_rotation,
             "messages requires max_messages_per_file. Whichever limit is met first ends a file, but see compat.");
  s.optional("max_file_size", &Options::max_file_size,
             "A file ends with the record that makes it this large; it may exceed it by that record.",
             {.min = 1, .max = kLargestObject});
  s.optional("max_messages_per_file", &Options::max_messages_per_file, "A file ends with this many records.",
             {.default_text = "no limit"});
  s.optional("max_file_age", &Options::max_file_age,
             "A file ends when its first record has waited so long, so a quiet partition is written too. 0s: never.",
             {.min = 0, .default_text = "5m; 0s with compat iggy"});
  s.optional("max_file_idle", &Options::max_file_idle,
             "A file ends when its last record has waited so long. 0s: never.", {.min = 0});
  s.optional(
      "rotate_on", &Options::rotate_on,
      "No file holds records of two hours, or days, in UTC, by the time that comes with each record: its own in a "
      "stream; of a backfill the last-modified of its object; with time_source ingest, by its arrival. No field of a "
      "payload is looked at.");
  s.optional(
      "max_open_files", &Options::max_open_files,
      "With rotate_on, or {key}, {header.NAME} or {field.NAME} in path_template: so many files of a partition are "
      "open at one time, so that times or values that interleave do not make a file each. For one more, the file "
      "not used for longest ends.",
      {.min = 1, .max = 100'000, .default_text = "8, or 1 by arrival; 64 with such a path_template"});
}

void add_memory(Schema<Options>& s) {
  s.optional("buffer_memory", &Options::buffer_memory,
             "Memory that open files may hold together. Beyond it the largest go to spool_dir, or end early.",
             {.min = 1U << 20U});
  s.optional("spool_dir", &Options::spool_dir,
             "Folder for what has no room in memory. Its files have no names, so nothing is left behind.",
             {.example = "/var/lib/millrace/spool"});
  s.optional("spool_limit", &Options::spool_limit,
             "Disk that open files may take in spool_dir; of parquet, what is made of them may take as much again.",
             {.default_text = "no limit"});
}

void add_compression(Schema<Options>& s) {
  s.optional(
      "compression", &Options::compression,
      "Of the files, in blocks as they grow; sizes and limits count what goes in. Any gzip or zstd reads them. Of "
      "parquet, the pages inside, and keys get no suffix.");
  s.optional("compression_level", &Options::compression_level,
             "gzip: 1 to 9, of which 1 to 3 are several times as fast. zstd: 1 to 19.",
             {.min = 1, .max = 19, .default_text = "2 for gzip, 3 for zstd"});
  s.optional("compression_suffix", &Options::compression_suffix,
             "Stands behind the extension, with its dot; may be empty.", {.default_text = ".gz or .zst"});
}

void add_format(Schema<Options>& s) {
  s.optional("output_format", &Options::output_format,
             "json_lines: one JSON document a line. json_array: one array a file. raw: payloads as they are, each "
             "followed by delimiter. parquet: a file of columns, of records that are JSON objects (see parquet).");
  s.optional("wrap", &Options::wrap,
             "JSON formats: each record is an object with its payload under `payload`: JSON as it came, what decode "
             "made text of "
             "as a string, any other bytes in base64. false: the payload itself, which must be JSON.");
  s.optional("include_metadata", &Options::include_metadata,
             "Offset, timestamp, stream, topic and partition_id beside the payload; of parquet, columns of these names "
             "with a '_' in front.");
  s.optional("include_headers", &Options::include_headers,
             "The record's headers beside the payload, where it has some; of parquet, the column _headers.");
  s.optional(
      "mark_encoding", &Options::mark_encoding,
      "Adds payload_encoding: base64 beside a payload that is written so: bytes that are no JSON, where no decoder has "
      "made text of them (decode: {text: {}}).");
  s.optional("timestamp_precision", &Options::timestamp_precision, "Digits of a second in timestamps: 0, 3, 6 or 9.",
             {.min = 0, .max = 9});
  s.optional("delimiter", &Options::delimiter,
             "raw: what follows each payload. Required there, but with compat iggy; may be empty.",
             {.example = "\"\\n\""});
}

Schema<Options::Parquet> parquet_schema() {
  using Parquet = Options::Parquet;
  Schema<Parquet> s("parquet", "With output_format parquet: which columns there are.");
  s.optional("schema", &Parquet::schema,
             "The columns, in order: a field's name, its type, and `required` where it must be there and not null. "
             "Types: bool, int32, int64, float, double, string, binary (base64), timestamp (RFC 3339), date, "
             "decimal(DIGITS,BEHIND THE POINT), json (any value, as text). A dot in a name leads inside an object.",
             {.example = "[id int64 required, user.name string, 'price decimal(18,2)']",
              .default_text = "inferred from the first records, and kept for all later files and runs in "
                              "<prefix>/_millrace/<pipeline>/schema.json"});
  s.optional(
      "on_unknown_field", &Parquet::on_unknown_field,
      "Of a field that is no column. keep: in the column _extra, an object as JSON text. ignore: left out. fail: a "
      "bad record, with which decode's on_error deals, as it does with a value that does not fit its column.");
  s.optional("row_group_size", &Parquet::row_group_size,
             "A row group ends with the record that makes its values this large in memory.",
             {.min = 64U << 10U, .max = 1024 * kMiB});
  s.optional("row_group_rows", &Parquet::row_group_rows, "A row group ends with so many records.",
             {.min = 1, .max = 100'000'000});
  return s;
}

void add_delivery(Schema<Options>& s) {
  s.optional(
      "delivery", &Options::delivery,
      "exactly_once: each record is in the objects once, also after crashes. Where files end by their records alone "
      "(max_file_age 0s, no max_file_idle, nothing that keeps several open) a replay makes the same objects; else a "
      "commit object for each partition, "
      "below "
      "<prefix>/_millrace, says what is written, for one small put more an object. Needs a source that replays, and "
      "if_exists verify.");
  s.optional(
      "if_exists", &Options::if_exists,
      "When a key is taken. verify: the same bytes are our own retry or replay, others an error. overwrite. fail.",
      {.default_text = "verify; overwrite with compat iggy"});
  s.optional("max_attempts", &Options::max_attempts,
             "Tries of one burst; 0 and 1 both mean one. Decides only with on_upload_failure fail or drop.",
             {.min = 0, .max = 1'000'000, .aliases = {"max_retries"}});
  s.optional("retry_delay", &Options::retry_delay,
             "Before the second try; doubles up to 60s, with jitter. A longer Retry-After is honoured.",
             {.min = 0, .max = 86'400});
  s.optional(
      "upload_deadline", &Options::upload_deadline,
      "With on_upload_failure fail or drop: no try of a file begins later than this after its first one, however "
      "many are left. 0s: max_attempts alone decides.",
      {.example = "5m", .min = 0, .max = 7 * 86'400.0});
  s.optional("on_upload_failure", &Options::on_upload_failure,
             "stall: keep trying, nothing is committed past it. fail: end the run after max_attempts. drop: give the "
             "file up after max_attempts, leave a marker `<key>.lost` in its place, count it and go on; a dead_letter "
             "keeps its bytes.");
  s.optional("upload_concurrency", &Options::upload_concurrency, "Uploads at one time.", {.min = 1, .max = 64});
  s.optional(
      "multipart_threshold", &Options::multipart_threshold,
      "A larger object is sent in parts, of which a retry sends only what is missing. Which uploads are under way "
      "is noted below <prefix>/_millrace, and what a crash has left is aborted by the next run.",
      {.min = 1, .max = kSinglePut});
  s.optional("part_size", &Options::part_size, "Of such a part; larger where 10,000 of them would not do.",
             {.min = 5 * kMiB, .max = kSinglePut});
  s.optional(
      "cleanup_uploads", &Options::cleanup_uploads,
      "At the start, aborts every upload in parts below the prefix that began before, whoever began it. Needs the "
      "right to list them.");
  s.optional("probe", &Options::probe,
             "Writes and removes a small object at the start, so that missing rights, and a store that ignores "
             "conditions, show before a record moves.");
  s.optional("probe_key", &Options::probe_key, "Key of that object.", {.default_text = "<prefix>/.millrace-probe"});
}

void add_keeping(Schema<Options>& s) {
  s.optional("storage_class", &Options::storage_class, "As the store spells it.", {.example = "STANDARD_IA"});
  s.optional("sse", &Options::sse, "Who encrypts objects where they lie: s3 (keys of the store), kms (a key service).");
  s.optional("sse_kms_key_id", &Options::sse_kms_key_id, "With sse kms: the key's id, ARN or alias.",
             {.default_text = "the account's own key"});
  s.optional("sse_bucket_key", &Options::sse_bucket_key, "With sse kms: one data key for many objects.",
             {.default_text = "the bucket's rule"});
  s.optional("acl", &Options::acl, "A canned one.", {.example = "bucket-owner-full-control"});
  s.optional("tags", &Options::tags, "Up to ten, of each object.", {.example = "{team: data, tier: bronze}"});
  s.optional("metadata", &Options::metadata, "User metadata of each object.",
             {.example = "{owner: data-platform}", .aliases = {"object_metadata"}});
  s.optional("content_type", &Options::content_type, "Media type of the objects.",
             {.default_text = "by output_format; application/gzip or application/zstd with compression"});
  s.optional("content_encoding", &Options::content_encoding,
             "With compression: gzip or zstd, so that HTTP clients unpack objects as they read them.");
  s.optional("checksum", &Options::checksum,
             "Sent with the bytes and compared by the store, beside the SHA-256 that requests are signed with.",
             {.aliases = {"checksum_algorithm"}});
}

void add_store(Schema<Options>& s) {
  s.optional("region", &Options::region, "Region that requests are signed for.", {.example = "us-east-1"});
  s.optional("endpoint", &Options::endpoint, "Server to talk to instead of AWS.", {.example = "http://127.0.0.1:9000"});
  s.optional("path_style", &Options::path_style, "Bucket in the path rather than in the host name.",
             {.default_text = "true with an endpoint"});
  s.optional("access_key_id", &Options::access_key_id, "Together with secret_access_key, or neither.",
             {.secret = true});
  s.optional("secret_access_key", &Options::secret_access_key, "Together with access_key_id, or neither.");
  s.optional("session_token", &Options::session_token, "Of temporary keys.");
  s.optional("store", &Options::store, "Further store options (`millrace describe store`).");
}

/// Names that one might try, with what is meant.
void reserve_names(Schema<Options>& s) {
  s.reserve("exactly_once", "is written `delivery: exactly_once`");
  s.reserve("timeout",
            "is a store option: `store: {timeout: 30s}` bounds one request; with on_upload_failure fail or drop "
            "upload_deadline bounds all tries of a file");
  s.reserve("deadline", "is called upload_deadline");
}

}  // namespace

const Schema<S3SinkOptions>& schema() {
  static const Schema<Options> all = [] {
    Schema<Options> s("s3", "Lands records as objects of a bucket or files of a folder, named by their offsets.");
    add_place(s);
    add_rotation(s);
    add_memory(s);
    add_compression(s);
    add_format(s);
    s.nested("parquet", &Options::parquet, parquet_schema(), "With output_format parquet: which columns there are.");
    add_delivery(s);
    add_keeping(s);
    add_store(s);
    reserve_names(s);
    s.check([](const Options& options, const ConfigSection& at, ConfigProblems& problems) {
      if (auto checked = check(options, at); !checked) problems.add(checked.error());
    });
    return s;
  }();
  return all;
}

}  // namespace s3_sink
}  // namespace millrace
