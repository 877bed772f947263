// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/explain.h"

#include <fmt/format.h>

#include <algorithm>

#include "millrace/base/figures.h"
#include "millrace/base/printable.h"
#include "millrace/decode/payload.h"
#include "millrace/encode/record_router.h"

namespace millrace::s3_sink {
namespace {

using Variable = KeyPattern::Variable;

// 2026-03-16T14:05:09Z: the seed's own example.
constexpr UnixMicros kExampleTime = 1'773'669'909'000'000;
constexpr std::string_view kExampleUuid = "3f0c0c1e-5a5b-4f6e-9d0a-7b7f6f1f2a10";

class Explainer {
 public:
  Explainer(const S3SinkOptions& options, const CheckedOptions& checked, const std::string& pipeline,
            const ExplainRequest& request)
      : options_(options), checked_(checked), keys_(checked.keys), pipeline_(pipeline), request_(request) {
    if (request.names != nullptr) {
      origin_ = *request.names;
    } else {
      origin_.stream = "orders";
      origin_.topic = "eu";
    }
  }

  Explanation explain() {
    made_.place = StoreUrl{checked_.base.scheme, checked_.base.bucket, ""}.to_string();
    made_.path_template = options_.path_template;
    tell_variables();
    tell_keys();
    tell_ends();
    tell_limits();
    tell_shared();
    if (request_.records != nullptr) tell_records(*request_.records);
    return std::move(made_);
  }

 private:
  struct At {
    std::uint32_t partition = 0;
    std::int64_t first = 0;
    std::string route = {};
    std::string_view uuid = kExampleUuid;
  };

  [[nodiscard]] Result<std::string> render(const Origin& origin, const At& at) const {
    return keys_.render({&origin, pipeline_, PartitionId(at.partition), Offset(at.first),
                         Offset(at.first + kExampleRecords - 1), kExampleTime, at.route, at.uuid});
  }

  /// The route of a record whose every value is `value`.
  [[nodiscard]] std::string route_of(std::string_view value) const {
    const std::vector<std::string> values(keys_.route().parts.size(), keys_.encoded(value));
    return fmt::format("{}", fmt::join(values, "/"));
  }

  void tell_variables() {
    const auto tell = [this](const std::string& name, std::string_view from) {
      const auto known = [&](const auto& one) { return one.first == name; };
      if (std::ranges::none_of(made_.variables, known)) made_.variables.emplace_back(name, from);
    };
    for (const KeyPattern::Piece& piece : keys_.pattern().pieces) {
      if (piece.variable != Variable::literal) tell(piece.text, source_of(piece));
    }
  }

  [[nodiscard]] std::string source_of(const KeyPattern::Piece& piece) const {
    switch (piece.variable) {
      case Variable::stream:
        return fmt::format("the stream's name, of a source without streams the pipeline's: {}",
                           printable(origin_.stream));
      case Variable::topic:
        return fmt::format("the topic's name, of a source without topics the source's: {}", printable(origin_.topic));
      case Variable::partition:
        return "number of the partition, or of the lane";
      case Variable::start_offset:
        return "offset of the file's first record";
      case Variable::end_offset:
        return "offset of the file's last record";
      case Variable::uuid:
        return "new for each file, the same over its retries; a replay makes another";
      case Variable::object:
      case Variable::object_dir:
      case Variable::object_name:
      case Variable::object_stem:
        return "key of the object that the records were read from; no file holds records of two";
      case Variable::routed:
        return routed_from(keys_.route().parts[piece.value]);
      default:
        return options_.time_source == TimeSource::ingest ? "when the file's first record came, UTC (time_source)"
                                                          : "of the file's first record, UTC (time_source)";
    }
  }

  [[nodiscard]] std::string routed_from(const RouteSpec::Part& part) const {
    const std::string missing = keys_.route().on_missing == RouteSpec::OnMissing::fail
                                    ? "a record without it is bad (on_missing_field)"
                                    : fmt::format("{} without it (null_fallback)", printable(keys_.route().fallback));
    switch (part.from) {
      case RouteSpec::Part::From::key:
        return "the record's key; " + missing;
      case RouteSpec::Part::From::header:
        return fmt::format("the record's header {}; {}", printable(part.name), missing);
      case RouteSpec::Part::From::field:
        break;
    }
    return fmt::format("the field {} of the record's JSON; {}", printable(part.name), missing);
  }

  void tell_keys() {
    const std::string one = route_of("one");
    add_key("first file of partition 0", origin_, {.route = one});
    add_key("the next one", origin_,
            {.first = kExampleRecords, .route = one, .uuid = "b1f4a2de-61d1-4c0e-8a3f-0d5c9e7b4411"});
    add_key("first file of partition 1", origin_,
            {.partition = 1, .route = one, .uuid = "0c9d55aa-97e3-4a5b-b7a4-52a1d70c8e02"});
    if (!keys_.route().empty()) {
      add_key("records of another value", origin_,
              {.route = route_of("two"), .uuid = "77e0b6c3-2f0b-4f44-9a55-1d2c3b4a5f66"});
    }
    Origin other = origin_;
    other.topic += "-2";
    if (!other.object.empty()) other.object += "-2";
    add_key(keys_.pattern().has(Variable::topic) ? "another topic" : "another object", other,
            {.route = one, .uuid = "d2a7c0f1-88b4-4b1d-a0c6-6e5f4d3c2b19"});
  }

  void add_key(std::string what, const Origin& origin, const At& at) {
    auto key = render(origin, at);
    made_.keys.push_back({std::move(what), key ? *key : "", key ? "" : key.error().message()});
  }

  void tell_ends() {
    const SealPolicy& seal = checked_.seal;
    const bool iggy = options_.compat == Compat::iggy;
    const auto add = [this](std::string text) { made_.ends.push_back(std::move(text)); };
    if (seal.max_bytes != 0) {
      add(fmt::format("with the record that makes it {}{} (max_file_size{})", bytes_text(std::uint64_t{seal.max_bytes}),
                      seal.uncounted == 0 ? " as encoded" : ", counted without what separates records",
                      iggy ? ", compat" : ""));
    }
    if (seal.max_records != 0)
      add(fmt::format("with {} (max_messages_per_file)", of_these(seal.max_records, "record")));
    if (seal.max_age > Duration::zero()) {
      add(fmt::format("{} after its first record (max_file_age)", time_text(seal.max_age)));
    }
    if (seal.max_idle > Duration::zero()) {
      add(fmt::format("{} after its last record (max_file_idle)", time_text(seal.max_idle)));
    }
    if (seal.per_object) add("where the records of one object end (path_template names {object})");
    const bool by_time = seal.boundary != SealPolicy::Boundary::none;
    if (by_time || !keys_.route().empty()) {
      const std::string_view each = !by_time                              ? "value"
                                    : !keys_.route().empty()              ? "hour or day, and value"
                                    : options_.rotate_on == RotateOn::day ? "day"
                                                                          : "hour";
      add(
          fmt::format("when a record of one {} more comes while {} of a partition are open, and it was not used for "
                      "longest (max_open_files)",
                      each, seal.max_open));
    }
    if (seal.by_content) {
      add("when its partition ends; a stop leaves records of files that are not full to the next run (delivery: "
          "exactly_once)");
      made_.notes.emplace_back(
          "delivery exactly_once: files end by their records alone, so a replay makes the same objects; memory ends "
          "none "
          "(spool_dir keeps them on disk), and limits change only between runs that ended by themselves");
      return tell_other_notes();
    }
    if (checked_.traits.recalls) {
      made_.notes.emplace_back(
          "delivery exactly_once: a commit object for each partition, below _millrace/, says what is written; one "
          "small "
          "put more for each object");
    }
    add(fmt::format("when open files hold more than {} of memory{}", bytes_text(std::uint64_t{seal.open_bytes}),
                    seal.spool_dir.empty() ? ", and it is the largest (buffer_memory)"
                                           : ", once spool_dir is full (buffer_memory, spool_dir)"));
    add("when its partition ends or is taken away, and when the run is stopped");
    if (seal.max_age <= Duration::zero() && seal.max_idle <= Duration::zero()) {
      made_.notes.emplace_back(
          "no file ends by time: records of a quiet partition wait, unacknowledged, until the run ends (max_file_age)");
    }
    tell_other_notes();
  }

  void tell_other_notes() {
    if (keys_.pattern().has(Variable::uuid)) {
      made_.notes.emplace_back(
          "{uuid}: a replay after a crash writes its records again under another key, and if_exists never meets them");
    }
    if (options_.time_source == TimeSource::ingest) {
      made_.notes.emplace_back("time_source ingest: a replay after a crash may get keys of a later hour");
    }
  }

  void tell_limits() {
    made_.limits.push_back(
        fmt::format("a key has at most {} bytes; one that would be longer ends the run", kMaxKeyBytes));
    if (keys_.route().empty()) return;
    made_.limits.push_back(fmt::format(
        "a value has at most {} bytes as it stands in a key; a longer one counts as none", keys_.route().max_value));
    made_.limits.push_back(
        fmt::format("{} files of a partition are open at one time (max_open_files)", checked_.seal.max_open));
  }

  /// Files whose partition and offsets are the same: only these could have one key, as both end it.
  void tell_shared() {
    const std::string route = route_of("one");
    const auto try_names = [&](std::string_view what, std::string Origin::* name, std::string_view first,
                               std::string_view second, std::string_view way_out) {
      Origin one = origin_;
      Origin other = origin_;
      one.*name = first;
      other.*name = second;
      compare(fmt::format("{} '{}'", what, first), fmt::format("{} '{}'", what, second), render(one, {.route = route}),
              render(other, {.route = route, .uuid = "another"}), way_out);
    };
    constexpr std::string_view kEncode = "name_encoding: percent";
    try_names("stream", &Origin::stream, "one", "two", "add {stream}, unless there is one stream only");
    if (keys_.pattern().has(Variable::topic)) {
      try_names("topic", &Origin::topic, "one", "two", "add {topic}");
      try_names("topic", &Origin::topic, "a/b", "a_b", kEncode);
    }
    if (keys_.pattern().has(Variable::stream)) try_names("stream", &Origin::stream, "a/b", "a_b", kEncode);
    // Objects of one topic have offsets of their own.
    if (!keys_.pattern().has(Variable::topic) && keys_.pattern().per_object()) {
      try_names("object", &Origin::object, "in/a b", "in/a_b", kEncode);
      try_names("bucket", &Origin::bucket, "one", "two", "add {topic}, unless one source reads one bucket");
    }
    for (const auto& run : keys_.pattern().run_together()) tell_run_together(run, route);
  }

  void compare(std::string one, std::string other, const Result<std::string>& first, const Result<std::string>& second,
               std::string_view way_out) {
    if (first && second && *first == *second) {
      made_.shared.push_back({std::move(one), std::move(other), *first, std::string(way_out)});
    }
  }

  static std::string Origin::* name_of(const KeyPattern::Piece& piece) {
    switch (piece.variable) {
      case Variable::stream:
        return &Origin::stream;
      case Variable::topic:
        return &Origin::topic;
      case Variable::object:
      case Variable::object_dir:
      case Variable::object_name:
      case Variable::object_stem:
        return &Origin::object;
      default:
        return nullptr;
    }
  }

  /// Such that the variable is `value`.
  static void name(Origin& origin, const KeyPattern::Piece& piece, const std::string& value) {
    origin.*name_of(piece) = piece.variable == Variable::object_dir ? value + "/x" : value;
  }

  /// Names of one segment, whose boundary no text shows: what stands between two of them may be of either.
  void tell_run_together(std::vector<const KeyPattern::Piece*> run, const std::string& route) {
    std::erase_if(run, [](const KeyPattern::Piece* piece) { return name_of(*piece) == nullptr; });
    for (std::size_t i = 0; i + 1 < run.size(); ++i) {
      const KeyPattern::Piece& first = *run[i];
      const KeyPattern::Piece& second = *run[i + 1];
      if (name_of(first) == name_of(second)) continue;
      const auto named = [&](const std::string& of_first, const std::string& of_second) {
        Origin names = origin_;
        name(names, first, of_first);
        name(names, second, of_second);
        return names;
      };
      const auto told = [&](const std::string& of_first, const std::string& of_second) {
        return fmt::format("{} '{}' and {} '{}'", first.text, of_first, second.text, of_second);
      };
      constexpr std::string_view kFirst = "the-first-name";
      constexpr std::string_view kSecond = "the-second-name";
      const auto key = render(named(std::string(kFirst), std::string(kSecond)), {.route = route});
      const std::size_t begin = key ? key->find(kFirst) : std::string::npos;
      const std::size_t end = begin == std::string::npos ? begin : key->find(kSecond, begin);
      if (end == std::string::npos) continue;
      const std::string between = key->substr(begin + kFirst.size(), end - begin - kFirst.size());
      compare(told("a" + between + "b", "c"), told("a", "b" + between + "c"),
              render(named("a" + between + "b", "c"), {.route = route}),
              render(named("a", "b" + between + "c"), {.route = route, .uuid = "another"}), "put '/' between the two");
    }
  }

  void tell_records(const std::vector<std::string>& records) {
    made_.has_records = true;
    const auto is_beside = [](const RouteSpec::Part& part) { return part.from != RouteSpec::Part::From::field; };
    if (std::ranges::any_of(keys_.route().parts, is_beside)) {
      made_.notes.push_back(
          fmt::format("the records given have no {{key}} and no {{header.NAME}}, which stand beside "
                      "a payload: {}",
                      keys_.route().on_missing == RouteSpec::OnMissing::fail ? "all of them count as bad here"
                                                                             : "null_fallback stands for each here"));
    }
    RecordRouter router(keys_.route());
    std::map<std::string, std::size_t> group_of;
    for (std::size_t i = 0; i < records.size(); ++i) {
      if (decode::is_blank(records[i])) continue;
      std::string route;
      if (!keys_.route().empty()) {
        const auto found = router.route(decode::Bytes{records[i]}, {});
        if (!found) {
          made_.bad_records.push_back(fmt::format("line {}: {}", i + 1, found.error().message()));
          continue;
        }
        route = *found;
      }
      const auto [at, is_new] = group_of.try_emplace(route, made_.records.size());
      if (is_new) {
        auto key = render(origin_, {.route = route});
        made_.records.push_back({0, i + 1, key ? *key : "", key ? "" : key.error().message()});
      }
      ++made_.records[at->second].records;
    }
    for (const auto& [reason, count] : router.fallbacks()) made_.fallbacks[reason] += count;
  }

  const S3SinkOptions& options_;
  const CheckedOptions& checked_;
  const KeyTemplate& keys_;
  const std::string& pipeline_;
  const ExplainRequest& request_;
  Origin origin_;
  Explanation made_;
};

}  // namespace

bool Explanation::ok() const noexcept {
  const auto has_none = [](const auto& one) { return one.key.empty(); };
  return std::ranges::none_of(keys, has_none) && std::ranges::none_of(records, has_none) && bad_records.empty();
}

Explanation explain(const S3SinkOptions& options, const CheckedOptions& checked, const std::string& pipeline,
                    const ExplainRequest& request) {
  return Explainer(options, checked, pipeline, request).explain();
}

}  // namespace millrace::s3_sink
