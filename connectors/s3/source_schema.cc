// SPDX-License-Identifier: Apache-2.0
// The keys of `source: {s3: ...}`, as data.
#include <fmt/format.h>

#include <array>
#include <utility>

#include "connectors/s3/options.h"
#include "millrace/codec/decompressor.h"

namespace millrace {

template <>
struct EnumNames<ObjectCodec> {
  static constexpr std::array<std::pair<std::string_view, ObjectCodec>, 7> names{{{"auto", ObjectCodec::auto_detect},
                                                                                  {"none", ObjectCodec::none},
                                                                                  {"gzip", ObjectCodec::gzip},
                                                                                  {"zstd", ObjectCodec::zstd},
                                                                                  {"bz2", ObjectCodec::bz2},
                                                                                  {"xz", ObjectCodec::xz},
                                                                                  {"lz4", ObjectCodec::lz4}}};
};
template <>
struct EnumNames<OnEmpty> {
  static constexpr std::array<std::pair<std::string_view, OnEmpty>, 2> names{
      {{"warn", OnEmpty::warn}, {"fail", OnEmpty::fail}}};
};
template <>
struct EnumNames<OnArchived> {
  static constexpr std::array<std::pair<std::string_view, OnArchived>, 2> names{
      {{"fail", OnArchived::fail}, {"skip", OnArchived::skip}}};
};
template <>
struct EnumNames<OnObjectError> {
  static constexpr std::array<std::pair<std::string_view, OnObjectError>, 2> names{
      {{"fail", OnObjectError::fail}, {"quarantine", OnObjectError::quarantine}}};
};
template <>
struct EnumNames<Frozen> {
  static constexpr std::array<std::pair<std::string_view, Frozen>, 2> names{
      {{"below", Frozen::below}, {"strict", Frozen::strict}}};
};

namespace s3_source {
namespace {

Schema<S3SourceOptions::Checkpoint> checkpoint_schema() {
  using Checkpoint = S3SourceOptions::Checkpoint;
  Schema<Checkpoint> s("checkpoint", "Where progress is kept.");
  s.required(
      "url", &Checkpoint::url,
      "The manifest object that holds the progress; the listing is kept beside it (`exports.listing.zst`). Never "
      "under the source's own prefix: it would be listed as input.",
      {.example = "s3://my-bucket/_checkpoints/exports.json"});
  s.optional("store", &Checkpoint::store,
             "Store options for the manifest, as under `store`. Empty, and the same scheme and bucket as `url`: those "
             "of the source.");
  s.optional("timeout", &Checkpoint::timeout,
             "Longest time of one read or write of the manifest. A save that fails is tried again on the next commit "
             "tick.",
             {.min = 0.1, .max = 3600});
  s.optional("owner_timeout", &Checkpoint::owner_timeout,
             "How long another run must give no sign of life before its manifest is taken over.",
             {.min = 1, .max = 86400});
  return s;
}

/// What this build cannot read, as a sentence; empty when it reads all.
std::string codecs_left_out() {
  std::string names;
  for (const Codec codec : kCodecs) {
    if (!codec_is_built(codec)) names += fmt::format("{}{}", names.empty() ? "" : ", ", to_string(codec));
  }
  return names.empty() ? "" : fmt::format(" Left out of this build, whose libraries were not found: {}.", names);
}

Schema<S3SourceOptions::Shard> shard_schema() {
  using Shard = S3SourceOptions::Shard;
  Schema<Shard> s("shard", "Which part of the objects this process reads.");
  s.required("index", &Shard::index, "Which part, from 0.", {.example = "${JOB_COMPLETION_INDEX:-0}"});
  s.required("count", &Shard::count, "How many parts there are. Fixed for the life of a checkpoint.",
             {.example = "3", .min = 1, .max = kMaxShards});
  s.check([](const Shard& shard, const ConfigSection& at, ConfigProblems& problems) {
    if (shard.index < shard.count) return;
    const ConfigSection index = at.child("index");
    problems.add(index.where(), fmt::format("{}: {} is not in 0 to {}, as count is {}", index.path(), shard.index,
                                            shard.count - 1, shard.count));
  });
  return s;
}

Schema<S3SourceOptions::Csv> csv_schema() {
  using Csv = S3SourceOptions::Csv;
  Schema<Csv> s("csv", "How format csv is spelled: RFC 4180, where not said otherwise.");
  s.optional("delimiter", &Csv::delimiter, "The one character between fields.", {.example = ";"});
  s.optional("quote", &Csv::quote,
             "The one character around fields that hold a delimiter, a newline or itself, doubled.");
  return s;
}

Schema<S3SourceOptions> source_schema() {
  using Options = S3SourceOptions;
  Schema<Options> s("s3",
                    "A bounded backfill: reads every record of every object under a prefix of s3:// or file://, keeps "
                    "its progress in a manifest, and ends by itself.");
  s.required("url", &Options::url,
             "Bucket and prefix to read. The prefix is a string, not a folder: `logs` also matches `logs-2/x`, `logs/` "
             "does not.",
             {.example = "s3://my-bucket/exports/2026-07/"});
  s.optional("lanes", &Options::lanes,
             "Worker lanes. The sorted listing is dealt round-robin over them and each reads its objects one after the "
             "other, so this bounds how many threads can work. Fixed for the life of a checkpoint.",
             {.min = 1, .max = kMaxLanes});
  s.optional(
      "format", &Options::format,
      "How records are framed. ndjson: one a line; blank lines are none; a last line needs no newline. lines: "
      "every line, blank ones too. json_array: the elements of the one array that an object is, read as it comes. "
      "csv: the rows below the header row. raw: the whole object, as long as max_record_bytes at most.");
  s.nested("csv", &Options::csv, csv_schema(), "How format csv is spelled.");
  s.optional(
      "compression", &Options::compression,
      "auto: by the object's extension (.gz .gzip .zst .zstd .bz2 .xz .lz4) or its Content-Encoding, checked against "
      "its first bytes. The others hold for every object; none takes the stored bytes as they are. One layer is "
      "undone: "
      "an object that was compressed twice is refused, also where compression is set." +
          codecs_left_out());
  s.nested("checkpoint", &Options::checkpoint, checkpoint_schema(), "Where progress is kept.", true);
  s.optional("prefetch_bytes", &Options::prefetch_bytes,
             "Read ahead of each lane. The lanes share one budget of lanes x prefetch_bytes; those that have nothing "
             "left to fetch lend theirs.",
             {.min = 1});
  s.optional("chunk_bytes", &Options::chunk_bytes,
             "Target size of one buffered chunk. A ranged read of a large object asks for up to four chunks at once, "
             "as the store likes it.",
             {.min = 1, .max = double(std::uint64_t{1} << 30U)});
  s.optional("max_record_bytes", &Options::max_record_bytes,
             "Longest record, in decoded bytes; a longer one fails the run, naming object and line.",
             {.min = 1, .max = double(std::uint64_t{1} << 31U)});
  s.optional("requests_in_flight", &Options::requests_in_flight, "Most reads under way at once, over all lanes.",
             {.min = 1, .max = kMaxRequestsInFlight});
  s.optional("include", &Options::include,
             "Globs on the key below the prefix; an object must match one. `*` stops at a slash, `**` does not, "
             "`**/` also matches nothing. Empty: all.",
             {.example = "[\"**/*.ndjson.gz\"]"});
  s.optional("exclude", &Options::exclude, "Globs as for include; what matches one is left out.",
             {.example = "[\"**/_tmp/**\"]"});
  s.optional("start_after", &Options::start_after,
             "Only keys that sort behind this whole key are listed; a file's key is its path without the first slash.",
             {.example = "exports/2026-07/part-0100"});
  s.optional("min_size", &Options::min_size, "Only objects of so many stored bytes, or more.", {.example = "1B"});
  s.optional("max_size", &Options::max_size, "Only objects of so many stored bytes, or fewer.", {.example = "5GiB"});
  s.optional("modified_after", &Options::modified_after,
             "Only objects last changed at this time or later; a time of RFC 3339 with its offset.",
             {.example = "2026-07-01T00:00:00Z"});
  s.optional("modified_before", &Options::modified_before,
             "Only objects last changed earlier than this time, so that one range begins where another ends.",
             {.example = "2026-07-02T00:00:00+02:00"});
  s.nested("shard", &Options::shard, shard_schema(),
           "Several processes on one prefix, such as a Kubernetes Indexed Job: each takes the keys that hash to its "
           "index and keeps a manifest of its own beside the others (`exports.shard-0-of-3.json`); `millrace status` "
           "reads all of them.");
  s.optional("on_empty", &Options::on_empty, "What it means when no object is left to read: warn, or fail the run.");
  s.optional("on_archived", &Options::on_archived,
             "Objects in an archive class that are not restored: fail before any data moves, or skip and report them.");
  s.optional(
      "on_object_error", &Options::on_object_error,
      "An object that cannot be read to its end, or holds a record that is refused: fail the run, or quarantine: "
      "set the object aside in the manifest, go on without it, and end CompletedWithErrors, exit code 4; "
      "`millrace run FILE --retry-quarantined` reads it later, once it has been mended.");
  s.optional("frozen", &Options::frozen,
             "below: keys may appear or vanish behind every committed position. strict: any change of the listing "
             "between runs fails.");
  s.optional("zstd_window_log_max", &Options::zstd_window_log_max,
             "Largest zstd window, as a power of two, that is accepted; bounds the decoder's memory per lane.",
             {.min = 10, .max = 31});
  s.optional("xz_memory_limit", &Options::xz_memory_limit,
             "Most memory that reading an xz object may take, in each lane; what needs more is refused. xz -9 needs "
             "65MiB.",
             {.min = double(std::uint64_t{1} << 20U), .max = double(std::uint64_t{16} << 30U)});
  s.optional("name", &Options::name,
             "Name of this source in its records' origin ({topic} of a sink's path). Empty: s3- and eight hex digits "
             "of a hash of what identifies the source.");
  s.optional("store", &Options::store,
             "Store options: region, endpoint, credentials, timeouts ... The bucket comes from `url`.",
             {.example = "{region: eu-west-2}"});
  s.check([](const Options& options, const ConfigSection& at, ConfigProblems& problems) {
    check(options, at.path(), [&at](std::string_view key) { return at.section(key).where(); }, problems);
  });
  return s;
}

}  // namespace

std::string_view name_of(ObjectCodec codec) {
  for (const auto& [name, value] : EnumNames<ObjectCodec>::names) {
    if (value == codec) return name;
  }
  return "auto";
}

}  // namespace s3_source

const Schema<S3SourceOptions>& S3Source::schema() {
  static const Schema<S3SourceOptions> schema = s3_source::source_schema();
  return schema;
}

}  // namespace millrace
