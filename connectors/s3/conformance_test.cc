// SPDX-License-Identifier: Apache-2.0
// The object-storage connectors under the suites of all sources and sinks: over a store in memory, and over files.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "connectors/s3/manifest.h"
#include "connectors/s3/sink.h"
#include "connectors/s3/source.h"
#include "millrace/connectors/s3.h"
#include "millrace/encode/encode.h"
#include "millrace/testing/conformance_tests.h"
#include "millrace/testing/faulty_store.h"
#include "millrace/testing/memory_store.h"
#include "millrace/testing/sink_conformance.h"
#include "millrace/testing/source_conformance.h"

namespace millrace {
namespace {

using conformance::SinkUnderTest;
using conformance::SourceUnderTest;
using testing::Fault;
using testing::FaultyStore;
using testing::MemoryStore;
using testing::register_conformance;
using testing::StoreOp;

constexpr const char* kManifest = "ck/manifest.json";
constexpr int kObjects = 4;
constexpr int kLines = 3;

std::string body_of(int object) {
  std::string body;
  for (int line = 0; line < kLines; ++line) body += fmt::format("{{\"o\":{},\"l\":{}}}\n", object, line);
  return body;
}

S3SourceOptions source_options() {
  S3SourceOptions options;
  options.url = "s3://b/in/";
  options.lanes = 2;
  options.checkpoint.url = fmt::format("s3://b/{}", kManifest);
  // A run that is killed here leaves its process behind, so another waits for the sign of life to end.
  options.checkpoint.owner_timeout = std::chrono::milliseconds(200);
  return options;
}

std::map<PartitionId, Watermark> positions_in(const std::string& manifest_text) {
  std::map<PartitionId, Watermark> positions;
  const auto manifest = s3_source::parse_manifest(manifest_text);
  if (!manifest) return positions;
  for (const auto& lane : manifest->positions) {
    positions[PartitionId(static_cast<std::uint32_t>(lane.lane))] = lane.watermark;
  }
  return positions;
}

SourceUnderTest source_over_memory() {
  auto memory = std::make_shared<MemoryStore>();
  for (int i = 0; i < kObjects; ++i) memory->set(fmt::format("in/o{}.ndjson", i), body_of(i));
  auto faulty = std::make_shared<FaultyStore>(memory);
  SourceUnderTest made;
  made.make = [faulty]() -> Result<std::unique_ptr<Source>> {
    MILLRACE_ASSIGN(s3_source::Settings settings, s3_source::settle(source_options()));
    settings.retry = {.tries = 2, .backoff = {.initial = Duration(1), .cap = Duration(1)}};
    return std::make_unique<s3_source::BackfillSource>(
        std::move(settings), s3_source::StartFlags{},
        [faulty](const StoreUrl&, const StoreOptions&, const StoreContext&) {
          return std::shared_ptr<ObjectStore>(faulty);
        });
  };
  made.records = kObjects * kLines;
  made.committed = [memory] {
    const auto contents = memory->contents();
    const auto found = contents.find(kManifest);
    return found == contents.end() ? std::map<PartitionId, Watermark>() : positions_in(found->second);
  };
  made.fail_reading = [faulty] {
    faulty->add({.op = StoreOp::read, .times = Fault::kAlways, .error = Error::fatal(ErrorCode::io, "a disk is gone")});
  };
  made.fail_commit = [faulty] {
    faulty->add({.op = StoreOp::put, .key = kManifest, .error = Error::retryable(ErrorCode::unavailable, "503")});
  };
  return made;
}

std::string new_folder() {
  char name[] = "/tmp/millrace-conformance-XXXXXX";
  return ::mkdtemp(name);
}
std::shared_ptr<void> removes(const std::string& folder) {
  return {nullptr, [folder](void*) { std::filesystem::remove_all(folder); }};
}

SourceUnderTest source_over_files() {
  const std::string folder = new_folder();
  std::filesystem::create_directories(folder + "/in");
  for (int i = 0; i < kObjects; ++i) {
    std::ofstream(fmt::format("{}/in/o{}.ndjson", folder, i), std::ios::binary) << body_of(i);
  }
  SourceUnderTest made;
  made.make = [folder] {
    S3SourceOptions options = source_options();
    options.url = "file://" + folder + "/in/";
    options.checkpoint.url = "file://" + folder + "/manifest.json";
    return S3Source::make(options);
  };
  made.records = kObjects * kLines;
  made.committed = [folder] {
    std::ifstream file(folder + "/manifest.json", std::ios::binary);
    return positions_in(std::string(std::istreambuf_iterator<char>(file), {}));
  };
  made.keep = removes(folder);
  return made;
}

void add_lines(const std::string& body, std::vector<std::string>& lines) {
  for (std::size_t from = 0; from < body.size();) {
    const std::size_t end = std::min(body.find('\n', from), body.size());
    lines.push_back(body.substr(from, end - from));
    from = end + 1;
  }
}

S3SinkOptions sink_options() {
  S3SinkOptions options;
  options.url = "s3://b/out/";
  options.wrap = false;
  options.probe = false;
  return options;
}

SinkUnderTest sink_over_memory(IfExists if_exists, Delivery delivery) {
  auto memory = std::make_shared<MemoryStore>();
  auto faulty = std::make_shared<FaultyStore>(memory);
  SinkUnderTest made;
  made.make = [faulty, if_exists, delivery]() -> Result<std::unique_ptr<Sink>> {
    S3SinkOptions options = sink_options();
    options.if_exists = if_exists;
    options.delivery = delivery;
    options.probe = delivery == Delivery::exactly_once;
    MILLRACE_ASSIGN(auto checked, s3_sink::check(options));
    return s3_sink::make_sink(std::move(checked), [faulty](const StoreUrl&, const StoreOptions&, const StoreContext&) {
      return std::shared_ptr<ObjectStore>(faulty);
    });
  };
  made.durable = [memory] {
    std::vector<std::string> lines;
    for (const auto& [key, body] : memory->contents()) {  // by key: in the order of their offsets
      if (!key.ends_with(".jsonl")) continue;
      add_lines(body, lines);
    }
    return lines;
  };
  made.fail_next = [faulty] {
    faulty->add({.op = StoreOp::put, .error = Error::retryable(ErrorCode::unavailable, "503 SlowDown")});
  };
  return made;
}

SinkUnderTest sink_over_files() {
  const std::string folder = new_folder();
  SinkUnderTest made;
  made.make = [folder] {
    S3SinkOptions options = sink_options();
    options.url = "file://" + folder + "/out/";
    return S3Sink::make(options);
  };
  made.durable = [folder] {
    std::vector<std::filesystem::path> files;
    if (std::filesystem::exists(folder + "/out")) {
      for (const auto& entry : std::filesystem::recursive_directory_iterator(folder + "/out")) {
        if (entry.is_regular_file() && entry.path().extension() == ".jsonl") files.push_back(entry.path());
      }
    }
    std::ranges::sort(files);
    std::vector<std::string> lines;
    for (const auto& path : files) {
      std::ifstream file(path, std::ios::binary);
      add_lines(std::string(std::istreambuf_iterator<char>(file), {}), lines);
    }
    return lines;
  };
  made.keep = removes(folder);
  return made;
}

[[maybe_unused]] const int kRegistered[] = {
    register_conformance("S3SourceOverMemory", conformance::source_rules(source_over_memory)),
    register_conformance("S3SourceOverFiles", conformance::source_rules(source_over_files)),
    register_conformance(
        "S3Sink", conformance::sink_rules([] { return sink_over_memory(IfExists::verify, Delivery::at_least_once); })),
    register_conformance("S3SinkThatOverwrites", conformance::sink_rules([] {
                           return sink_over_memory(IfExists::overwrite, Delivery::at_least_once);
                         })),
    register_conformance("S3SinkExactlyOnce", conformance::sink_rules([] {
                           return sink_over_memory(IfExists::verify, Delivery::exactly_once);
                         })),
    register_conformance("S3SinkOverFiles", conformance::sink_rules(sink_over_files)),
};

}  // namespace
}  // namespace millrace
