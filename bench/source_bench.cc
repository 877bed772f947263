// SPDX-License-Identifier: Apache-2.0
// Row 2 of performance.md: a plain file:// backfill through the whole pipeline, one lane on one thread, into a chain
// that counts, against read(2) of the same files with 512 KiB buffers, written to /dev/null as cat does, plus a memchr
// pass over each buffer. By CPU time of the process (ratio.h) and, alternating, by the clock on the wall.
//   source_bench [--rounds N] [--seconds S] [--mib SIZE] [--lanes N]
#include <fcntl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "bench/ndjson_lines.h"
#include "bench/ratio.h"
#include "millrace/connectors/console.h"
#include "millrace/connectors/s3.h"
#include "millrace/pipeline/pipeline.h"

namespace millrace::bench {
namespace {

constexpr std::size_t kObject = 16U << 20U;

/// Counts payloads and their bytes; the batch is acknowledged when it goes.
class CountingChain final : public LaneChain {
 public:
  ChainStep run(const PayloadBatch& batch, std::size_t from, AckRef& /*ack*/, AckIssuer& /*issuer*/,
                ChainCounts& counts) override {
    for (std::size_t i = from; i < batch.payloads.size(); ++i) counts.payload_bytes += batch.payloads[i].size();
    counts.records_in += batch.payloads.size() - from;
    counts.records_decoded += batch.payloads.size() - from;
    return {batch.payloads.size(), std::nullopt};
  }
};

class Files {
 public:
  Files(std::uint64_t bytes, std::size_t mean_line) {
    std::string pattern = (std::filesystem::temp_directory_path() / "millrace-bench-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    std::filesystem::create_directories(folder_ / "in");
    const std::string text = ndjson_lines(kObject, mean_line);
    for (std::uint64_t at = 0; at < bytes; at += kObject) {
      names_.push_back((folder_ / "in" / fmt::format("part-{:04}.ndjson", names_.size())).string());
      std::ofstream(names_.back(), std::ios::binary) << text;
      bytes_ += text.size();
    }
  }
  ~Files() { std::filesystem::remove_all(folder_); }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  std::filesystem::path folder_;
  std::vector<std::string> names_;
  std::uint64_t bytes_ = 0;
};

std::uint64_t cat_and_memchr(const Files& files) {
  static std::string buffer(512U << 10U, '\0');
  static const int null = ::open("/dev/null", O_WRONLY);
  std::uint64_t bytes = 0;
  std::uint64_t lines = 0;
  for (const std::string& name : files.names()) {
    const int file = ::open(name.c_str(), O_RDONLY);
    while (true) {
      const ssize_t size = ::read(file, buffer.data(), buffer.size());
      if (size <= 0) break;
      if (::write(null, buffer.data(), static_cast<std::size_t>(size)) != size) std::exit(2);
      bytes += static_cast<std::uint64_t>(size);
      const char* at = buffer.data();
      const char* const end = at + size;
      while (const void* found = std::memchr(at, '\n', static_cast<std::size_t>(end - at))) {
        ++lines;
        at = static_cast<const char*>(found) + 1;
      }
    }
    ::close(file);
  }
  keep(lines);
  return bytes;
}

std::uint64_t backfill(const Files& files, std::uint64_t lanes) {
  S3SourceOptions options;
  options.url = "file://" + (files.folder() / "in").string() + "/";
  options.checkpoint.url = "file://" + (files.folder() / "progress.json").string();
  options.lanes = lanes;
  std::filesystem::remove(files.folder() / "progress.json");
  PipelineOptions settings;
  settings.threads = lanes;
  Pipeline pipeline(settings);
  pipeline.sink(BlackholeSink::make()).chain_factory([](const ChainContext&) -> Result<std::unique_ptr<LaneChain>> {
    return std::make_unique<CountingChain>();
  });
  const RunReport report = pipeline.run(S3Source::make(options));
  if (report.state != ExitState::completed) {
    fmt::print(stderr, "source_bench: {}\n", report.error ? report.error->describe() : "not completed");
    std::exit(2);
  }
  return files.bytes();
}

double wall_rate(const std::function<std::uint64_t()>& pass) {
  timespec begin{};
  timespec end{};
  clock_gettime(CLOCK_MONOTONIC, &begin);
  const std::uint64_t bytes = pass();
  clock_gettime(CLOCK_MONOTONIC, &end);
  const double seconds =
      static_cast<double>(end.tv_sec - begin.tv_sec) + static_cast<double>(end.tv_nsec - begin.tv_nsec) * 1e-9;
  return static_cast<double>(bytes) / seconds / 1e6;
}

}  // namespace
}  // namespace millrace::bench

int main(int argc, char** argv) {
  using namespace millrace::bench;
  std::uint64_t mib = 256;
  std::uint64_t lanes = 1;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--mib") == 0) mib = std::strtoull(argv[i + 1], nullptr, 10);
    if (std::strcmp(argv[i], "--lanes") == 0) lanes = std::strtoull(argv[i + 1], nullptr, 10);
  }
  Ratios ratios(argc, argv);
  for (const std::size_t line : {200U, 1024U}) {
    const Files files(mib << 20U, line);
    const Pass cat = [&] { return cat_and_memchr(files); };
    const Pass ours = [&] { return backfill(files, lanes); };
    ratios.compare(fmt::format("file:// backfill, {} B lines, by CPU", line), {"cat and memchr", cat},
                   {"millrace", ours}, 0.80);
    std::vector<double> quotients;
    for (int round = 0; round < 7; ++round) {
      const double base = wall_rate(cat);
      quotients.push_back(wall_rate(ours) / base);
    }
    std::sort(quotients.begin(), quotients.end());
    fmt::print("{:<44} ratio min/median/max {:.2f}/{:.2f}/{:.2f}\n",
               fmt::format("  the same by the clock, {} lanes", lanes), quotients.front(),
               quotients[quotients.size() / 2], quotients.back());
  }
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  fmt::print("peak RSS of this process: {} MiB\n", usage.ru_maxrss / 1024);
  return ratios.exit_code();
}
