// SPDX-License-Identifier: Apache-2.0
// Our side of ./dev bench --peers: one bounded backfill at the defaults into a sink that counts, and one JSON line
// about it, as the peers' drivers print.
//   backfill_job --url URL [--endpoint URL] [--mode raw|json] [--threads N] [--lanes N]
// raw: lines are framed and acknowledged. json: each line is parsed into a struct, and eight bytes of it are encoded.
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "millrace/connectors/console.h"
#include "millrace/connectors/s3.h"
#include "millrace/decode/json.h"
#include "millrace/decode/raw.h"
#include "millrace/encode/encode.h"
#include "millrace/ops/ops.h"
#include "millrace/pipeline/pipeline.h"

namespace millrace::bench {

// The columns that all lines of the generated data have; the rest of a line is skipped.
struct User {
  std::uint64_t id = 0;
  std::string_view tier;
  bool active = false;
};
MILLRACE_JSON_FIELDS(User, id, tier, active);

struct Event {
  std::string_view id;
  std::uint64_t seq = 0;
  std::int64_t ts = 0;
  std::string_view event;
  std::string_view region;
  User user;
  double amount = 0;
};
MILLRACE_JSON_FIELDS(Event, id, seq, ts, event, region, user, amount);

namespace {

struct Job {
  std::string url;
  std::string endpoint;
  std::string mode = "raw";
  std::uint64_t threads = 0;  // 0: the default
  std::uint64_t lanes = 0;
};

Result<void> digest(const Event& event, const RecordMeta& /*meta*/, ByteBuffer& out) {
  const std::uint64_t bits = event.seq ^ event.user.id;
  char bytes[sizeof bits];
  std::memcpy(bytes, &bits, sizeof bits);
  out.append({bytes, sizeof bytes});
  return {};
}

RunReport run(const Job& job, const std::filesystem::path& progress) {
  S3SourceOptions options;
  options.url = job.url;
  options.checkpoint.url = "file://" + progress.string();
  if (job.lanes != 0) options.lanes = job.lanes;
  if (!job.endpoint.empty()) {
    options.store = {{"endpoint", job.endpoint},
                     {"region", "us-east-1"},
                     {"access_key_id", "bench"},
                     {"secret_access_key", "bench-bench"}};
  }
  PipelineOptions settings;
  if (job.threads != 0) settings.threads = job.threads;
  Pipeline pipeline(settings);
  pipeline.sink(BlackholeSink::make());
  if (job.mode == "json") {
    pipeline.chain([](const ChainContext&) {
      return decode::json<Event>({.unknown_fields = UnknownFields::ignore}) | encode::with(digest);
    });
  } else {
    pipeline.chain([](const ChainContext&) { return decode::raw() | encode::discard(); });
  }
  return pipeline.run(S3Source::make(options));
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

int main_of(int argc, char** argv) {
  Job job;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    if (name == "--url") job.url = argv[i + 1];
    if (name == "--endpoint") job.endpoint = argv[i + 1];
    if (name == "--mode") job.mode = argv[i + 1];
    if (name == "--threads") job.threads = std::strtoull(argv[i + 1], nullptr, 10);
    if (name == "--lanes") job.lanes = std::strtoull(argv[i + 1], nullptr, 10);
  }
  std::string folder = (std::filesystem::temp_directory_path() / "millrace-bench-XXXXXX").string();
  if (job.url.empty() || ::mkdtemp(folder.data()) == nullptr) return 2;
  const auto begin = std::chrono::steady_clock::now();
  const RunReport report = run(job, std::filesystem::path(folder) / "progress.json");
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  std::filesystem::remove_all(folder);
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  fmt::print(
      R"({{"tool":"millrace","url":"{}","mode":"{}","state":"{}","rows":{},"exit_s":{:.4f},"user_s":{:.4f},"sys_s":{:.4f},"rss_mib":{:.1f}}})"
      "\n",
      job.url, job.mode, to_string(report.state), report.records_out, wall.count(), seconds(usage.ru_utime),
      seconds(usage.ru_stime), static_cast<double>(usage.ru_maxrss) / 1024);
  if (report.error) fmt::print(stderr, "backfill_job: {}\n", report.error->describe());
  return report.exit_code();
}

}  // namespace
}  // namespace millrace::bench

int main(int argc, char** argv) { return millrace::bench::main_of(argc, argv); }
