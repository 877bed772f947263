// SPDX-License-Identifier: Apache-2.0
#include "bench/file_backfill.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <utility>

#include "bench/ndjson_lines.h"
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

[[noreturn]] void die(const std::string& why) {
  fmt::print(stderr, "bench: {}\n", why);
  std::exit(2);
}

// Replaces `file` by what the program of the codec makes of it.
std::string compressed(const std::string& file, Codec codec) {
  if (codec == Codec::none) return file;
  const bool gzip = codec == Codec::gzip;
  const pid_t child = ::fork();
  if (child == 0) {
    if (gzip) ::execlp("gzip", "gzip", "-6", "-n", file.c_str(), static_cast<char*>(nullptr));
    ::execlp("zstd", "zstd", "-q", "-3", "--rm", file.c_str(), static_cast<char*>(nullptr));
    std::_Exit(127);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child || status != 0) {
    die(fmt::format("the {} program failed", gzip ? "gzip" : "zstd"));
  }
  return file + (gzip ? ".gz" : ".zst");
}

}  // namespace

Files::Files(std::uint64_t bytes, std::size_t mean_line, Codec codec) {
  std::string pattern = (std::filesystem::temp_directory_path() / "millrace-bench-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) die("no temporary folder could be made");
  folder_ = pattern;
  std::filesystem::create_directories(folder_ / "in");
  const std::string text = ndjson_lines(kObject, mean_line);
  for (std::uint64_t at = 0; at < bytes; at += kObject) {
    const std::string name = (folder_ / "in" / fmt::format("part-{:04}.ndjson", names_.size())).string();
    std::ofstream(name, std::ios::binary) << text;
    names_.push_back(compressed(name, codec));
    bytes_ += text.size();
  }
}

Files::~Files() { std::filesystem::remove_all(folder_); }

std::uint64_t backfill(const Files& files, std::uint64_t lanes, std::string_view progress) {
  S3SourceOptions options;
  options.url = "file://" + (files.folder() / "in").string() + "/";
  options.checkpoint.url = "file://" + (files.folder() / progress).string();
  options.lanes = lanes;
  for (const auto& kept : {std::string(progress), std::string(progress) + ".listing.zst"}) {
    std::filesystem::remove(files.folder() / kept);
  }
  PipelineOptions settings;
  settings.threads = lanes;
  Pipeline pipeline(settings);
  pipeline.sink(BlackholeSink::make()).chain_factory([](const ChainContext&) -> Result<std::unique_ptr<LaneChain>> {
    return std::make_unique<CountingChain>();
  });
  const RunReport report = pipeline.run(S3Source::make(options));
  if (report.state != ExitState::completed) die(report.error ? report.error->describe() : "the run did not complete");
  return files.bytes();
}

}  // namespace millrace::bench
