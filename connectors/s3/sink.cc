// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/sink.h"

#include <fmt/format.h>

#include <utility>

#include "connectors/s3/complaints.h"
#include "connectors/s3/explain.h"
#include "connectors/s3/rights.h"
#include "connectors/s3/sink_probe.h"
#include "connectors/s3/upload.h"
#include "connectors/s3/way.h"
#include "connectors/s3/writer.h"
#include "millrace/base/printable.h"
#include "millrace/pipeline/exactly_once.h"
#include "millrace/store/check_store.h"

namespace millrace {
namespace s3_sink {
namespace {

/// cleanup_uploads: whatever began below the prefix before `now`.
Result<void> abort_uploads(const Upload& upload, UnixMicros now) {
  ListUploadsRequest request{.prefix = upload.keys.front()};
  std::size_t aborted = 0;
  do {
    auto page = upload.store->list_uploads(request);
    if (!page) return fail(std::move(page).error().prefixed("cleanup_uploads: "));
    for (const UploadInfo& left : page->uploads) {
      if (left.initiated != kNoTimestamp && left.initiated >= now) continue;
      if (auto ended = upload.store->abort_upload(left.upload); !ended)
        return fail(std::move(ended).error().prefixed("cleanup_uploads: "));
      ++aborted;
    }
    request.continuation = page->continuation;
  } while (!request.continuation.empty());
  if (aborted > 0)
    upload.log.info("uploads in parts that were never completed are aborted", {{"uploads", std::to_string(aborted)}});
  return {};
}

class ObjectSink final : public Sink {
 public:
  ObjectSink(CheckedOptions options, StoreOpener opener, ColumnarKind parquet)
      : options_(std::move(options)), opener_(std::move(opener)), parquet_(std::move(parquet)) {}

  std::string_view type() const override { return "s3"; }
  SealPolicy seal_policy() const override { return options_.seal; }
  Envelope envelope() const override { return options_.envelope; }
  EncodeSpec encode_spec() const override { return options_.encode; }
  RouteSpec route_spec() const override { return options_.keys.route(); }
  RetryPolicy retry_policy() const override { return options_.retry; }
  SinkTraits traits() const override {
    SinkTraits traits = options_.traits;
    if (options_.in_columns() && parquet_) traits.writer_memory = parquet_.memory(options_.columns);
    return traits;
  }

  Result<void> open(SinkContext context) override {
    if (options_.in_columns() && !parquet_)
      return fail(Error::config("output_format parquet needs who writes it (S3Sink::make)"));
    auto upload = std::make_shared<Upload>();
    MILLRACE_ASSIGN(upload->store, opener_(options_.base, options_.store,
                                           {.clock = context.clock, .random = context.random, .log = context.log}));
    upload->base = options_.base;
    upload->keys = options_.keys;
    upload->if_exists = options_.if_exists;
    upload->time_source = options_.time_source;
    upload->exactly_once = options_.delivery == Delivery::exactly_once;
    upload->as = options_.as;
    upload->pipeline = context.pipeline;
    for (std::uint64_t& bits : upload->run) bits = context.random->next();
    upload->log = context.log;
    MILLRACE_TRY(claim_metrics(context.meter, *upload));
    if (options_.probe) {
      MILLRACE_ASSIGN(const bool conditions, run_probe({.store = upload->store.get(),
                                                        .key = options_.probe_key,
                                                        .name = upload->location(options_.probe_key),
                                                        .needs_conditions = options_.if_exists != IfExists::overwrite,
                                                        .retry = options_.retry,
                                                        .clock = context.clock,
                                                        .random = context.random,
                                                        .stop_requested = context.stop_requested,
                                                        .log = context.log}));
      upload->conditions.store(conditions);
      if (!conditions) MILLRACE_TRY(check_conditions());
    }
    const std::string own_folder =
        options_.keys.beside(fmt::format("_millrace/{}/", options_.keys.encoded(context.pipeline)));
    if (options_.as.multipart_threshold != UINT64_MAX) {
      upload->ledger = std::make_shared<UploadLedger>(upload->store, own_folder, context.log, options_.as.of_notes());
      upload->expects_parts = options_.may_need_parts();
    }
    if (options_.traits.recalls) {
      upload->commits = std::make_shared<CommitContext>(
          fmt::format("{:016x}{:016x}", context.random->next(), context.random->next()), own_folder, options_.files_by);
    }
    if (options_.in_columns()) {
      const std::string kept = own_folder + "schema.json";
      MILLRACE_ASSIGN(upload->columns, ColumnarOutput::open({.kind = parquet_,
                                                             .files = options_.columns,
                                                             .rows = options_.encode.rows,
                                                             .store = upload->store,
                                                             .conditions = upload->conditions.load(),
                                                             .key = kept,
                                                             .location = upload->location(kept),
                                                             .settings = options_.as.of_notes(),
                                                             .spool_dir = options_.seal.spool_dir,
                                                             .spool_limit = options_.seal.spool_limit,
                                                             .log = context.log}));
    }
    if (options_.cleanup_uploads) MILLRACE_TRY(abort_uploads(*upload, context.clock->unix_micros()));
    upload_ = std::move(upload);
    return {};
  }

  Result<std::unique_ptr<Writer>> make_writer() override {
    if (!upload_) return fail(Error::fatal(ErrorCode::rule_broken, "the s3 sink was asked for a writer before open()"));
    return std::make_unique<ObjectWriter>(upload_);
  }

  void settled(std::span<const PartitionWatermark> watermarks) override {
    if (upload_ && upload_->commits) upload_->commits->settle(watermarks);
  }

  Result<void> close() override {
    if (upload_ && upload_->ledger) upload_->ledger->clear();
    return {};
  }

 private:
  [[nodiscard]] Result<void> check_conditions() const {
    if (!options_.traits.recalls) return {};
    return fail(Error::config(
        fmt::format("delivery: exactly_once needs a store that keeps the condition of a put, and this one does not; it "
                    "does without where files end by their records alone: {}",
                    kEndsByContent)));
  }

  const CheckedOptions options_;
  const StoreOpener opener_;
  const ColumnarKind parquet_;
  std::shared_ptr<Upload> upload_;
};

/// What a program that has no Parquet says of it, where it is asked for.
Result<void> check_built(const S3SinkOptions& options, const ConfigSection& at, const ColumnarKind& parquet) {
  if (options.output_format != OutputFormat::parquet || parquet) return {};
  ConfigProblems problems;
  Complaints(at, problems)
      .about(
          "output_format",
          "is parquet, which this program was built without: Apache Arrow C++ was not found then. Install it with its "
          "headers, or run tools/setup/arrow.sh, and build again; a program of your own gives parquet_format() to "
          "S3Sink::make and links millrace::parquet");
  return problems.result();
}

}  // namespace

std::unique_ptr<Sink> make_sink(CheckedOptions options, StoreOpener opener, ColumnarKind parquet) {
  return std::make_unique<ObjectSink>(std::move(options), std::move(opener), std::move(parquet));
}

}  // namespace s3_sink

const Schema<S3SinkOptions>& S3Sink::schema() { return s3_sink::schema(); }

Result<std::unique_ptr<Sink>> S3Sink::make(S3SinkOptions options, const BuildContext& /*context*/,
                                           const ColumnarKind& parquet) {
  MILLRACE_TRY(s3_sink::check_built(options, {}, parquet));
  MILLRACE_ASSIGN(auto checked, s3_sink::check(options));
  return s3_sink::make_sink(std::move(checked), open_store, parquet);
}

Result<std::unique_ptr<Sink>> S3Sink::make(const ConfigSection& section, const BuildContext& /*context*/,
                                           const ColumnarKind& parquet) {
  MILLRACE_ASSIGN(const S3SinkOptions options, schema().parse(section));
  MILLRACE_TRY(s3_sink::check_built(options, section, parquet));
  MILLRACE_ASSIGN(auto checked, s3_sink::check(options, section));
  return s3_sink::make_sink(std::move(checked), open_store, parquet);
}

SinkKind S3Sink::kind(const ColumnarKind& parquet) {
  return {
      "s3",
      schema().description(),
      [parquet](const ConfigSection& section) -> Result<void> {
        MILLRACE_ASSIGN(const S3SinkOptions options, schema().parse(section));
        return s3_sink::check_built(options, section, parquet);
      },
      [parquet](const ConfigSection& section, const BuildContext& context) { return make(section, context, parquet); },
      [](const ConfigSection& section) -> Result<std::vector<NeededRight>> {
        MILLRACE_ASSIGN(const S3SinkOptions options, schema().parse(section));
        MILLRACE_ASSIGN(const auto checked, s3_sink::check(options, section));
        return s3_sink::rights_of(checked);
      },
      [](const ConfigSection& section, const BuildContext& context, const ExplainRequest& request) -> Result<Verdict> {
        MILLRACE_ASSIGN(const S3SinkOptions options, schema().parse(section));
        MILLRACE_ASSIGN(const auto checked, s3_sink::check(options, section));
        const auto made = s3_sink::explain(options, checked, context.pipeline, request);
        return Verdict{made.ok(), request.json ? explanation_json(made) : explanation_text(made)};
      },
      [](const ConfigSection& section) -> Result<std::string> {
        MILLRACE_ASSIGN(const S3SinkOptions options, schema().parse(section));
        MILLRACE_ASSIGN(const auto checked, s3_sink::check(options, section));
        return s3_sink::place_of(checked);
      }};
}

Result<void> S3Sink::check_exactly_once(const S3SinkOptions& sink, const std::string& replay_gap, bool receipt,
                                        bool other_sinks) {
  if (sink.delivery != Delivery::exactly_once) return {};
  MILLRACE_ASSIGN(const s3_sink::CheckedOptions checked, s3_sink::check(sink));
  const BesideSink beside{.replays = replay_gap.empty(), .keeps_account = receipt, .other_sinks = other_sinks};
  switch (exactly_once_gap(checked.traits, checked.seal, beside)) {
    case ExactlyOnceGap::none:
    case ExactlyOnceGap::order:  // its traits are
      return {};
    case ExactlyOnceGap::replay:
      return fail(Error::config("delivery: exactly_once cannot hold here: " + replay_gap));
    case ExactlyOnceGap::receipt:
      return fail(
          Error::config(fmt::format("delivery: exactly_once goes together with a receipt, which names the object of "
                                    "each record, only where files "
                                    "end by their records alone: leave out the receipt, or set {}",
                                    s3_sink::kEndsByContent)));
    case ExactlyOnceGap::company:
      return fail(
          Error::config("delivery: exactly_once beside another sink, or dead_letter, needs commit objects, since "
                        "positions wait for both: set max_file_age above 0s"));
  }
  return {};
}

Result<void> S3Sink::check_not_feeding(const S3SourceOptions& source, const S3SinkOptions& sink) {
  MILLRACE_ASSIGN(const StoreUrl from, StoreUrl::parse(source.url));
  MILLRACE_ASSIGN(const s3_sink::CheckedOptions to, s3_sink::check(sink));
  MILLRACE_ASSIGN(const StoreOptions source_store, StoreOptions::parse(source.store));
  if (!same_store(from, source_store, to.base, to.store)) return {};
  const std::string front = to.keys.front();
  if (!front.starts_with(from.key)) return {};
  return fail(Error::config(fmt::format(
      "the sink writes below {}, which the source reads ({}): a run, or the next one, would read its own "
      "output; give the sink another prefix",
      printable_key(StoreUrl{to.base.scheme, to.base.bucket, front}.to_string()), printable_key(source.url))));
}

Result<void> S3Sink::check_holds_letters(const S3SinkOptions& letters) {
  MILLRACE_ASSIGN(const s3_sink::CheckedOptions checked, s3_sink::check(letters));
  if (checked.in_columns()) {
    return fail(
        Error::config("output_format parquet is for records that fit its columns, and a dead letter may be anything; "
                      "json_lines keeps them"));
  }
  if (letters.delivery == Delivery::exactly_once) {
    return fail(
        Error::config("delivery: exactly_once is for records; dead letters are kept at least once, also those of files "
                      "that were given up"));
  }
  if (checked.keys.route().empty()) return {};
  return fail(Error::config(
      "path_template names {key}, {header...} or {field...}, and a dead letter, whose record may be anything, goes by "
      "none of them; use what tells where it came from: {stream}, {topic}, {object}, {partition}"));
}

Result<void> S3Sink::check_apart(const S3SinkOptions& sink, const S3SinkOptions& letters) {
  MILLRACE_ASSIGN(const s3_sink::CheckedOptions one, s3_sink::check(sink));
  MILLRACE_ASSIGN(const s3_sink::CheckedOptions other, s3_sink::check(letters));
  if (!same_store(one.base, one.store, other.base, other.store)) return {};
  const std::string records = one.keys.front();
  const std::string kept = other.keys.front();
  // Below one prefix they would also share the notes of uploads in parts.
  const bool apart = one.base.key != other.base.key && !records.starts_with(kept) && !kept.starts_with(records);
  if (apart) return {};
  return fail(
      Error::config(fmt::format("dead letters below {} and the sink's records below {} would lie among each other; "
                                "give the dead letters a prefix "
                                "of their own",
                                printable_key(StoreUrl{other.base.scheme, other.base.bucket, kept}.to_string()),
                                printable_key(StoreUrl{one.base.scheme, one.base.bucket, records}.to_string()))));
}

}  // namespace millrace
