// SPDX-License-Identifier: Apache-2.0
// Goal: while the sink takes nothing, the lanes hold no connection and no more bytes than their budget, and go on when
// it does; and a resume reads the object in progress by the version that was committed. Method: the log of the fault
// server, which closes whatever lies idle, so that only a transfer under way could keep a connection open.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "millrace/connectors/s3.h"
#include "millrace/decode/raw.h"
#include "millrace/encode/encode.h"
#include "millrace/pipeline/compile.h"
#include "millrace/pipeline/pipeline.h"
#include "millrace/testing/capture_sink.h"
#include "tests/s3_source/source_on_server.h"

namespace millrace::s3_source {
namespace {

using millrace::testing::Capture;
using millrace::testing::CaptureSink;

/// Waits until the server has closed a connection of ours because nothing came on it.
void idle_period(const millrace::testing::FaultServer& server) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(server.port());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  pollfd end{socket, POLLIN, 0};
  EXPECT_EQ(::poll(&end, 1, 60'000), 1);
  char byte = 0;
  EXPECT_EQ(::recv(socket, &byte, 1, 0), 0);
  ::close(socket);
}

std::uint64_t bytes_asked_for(const millrace::testing::LoggedRequest& request) {
  const std::string range(request.http.header("range").substr(6));  // behind "bytes="
  const std::size_t dash = range.find('-');
  return std::stoull(range.substr(dash + 1)) - std::stoull(range.substr(0, dash)) + 1;
}

class Paused : public SourceOnServer {
 protected:
  static constexpr std::size_t kLanes = 2;
  static constexpr std::size_t kWidth = 1'000;      // of a line
  static constexpr std::size_t kLines = 40'000;     // of an object
  static constexpr std::size_t kChunk = 2U << 20U;  // read whole, more than the sockets between would hold
  static constexpr std::size_t kPrefetch = 4 * kChunk;

  void SetUp() override {
    start({.idle_timeout = std::chrono::milliseconds(100)});
    std::string pattern = (std::filesystem::temp_directory_path() / "millrace-XXXXXX").string();
    folder = ::mkdtemp(pattern.data());
    for (const char* key : {"in/a", "in/b"}) put(key, numbered(kLines, kWidth));
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  S3SourceOptions options() const {
    S3SourceOptions options;
    options.url = "s3://b/in/";
    options.lanes = kLanes;
    options.chunk_bytes = {kChunk};
    options.prefetch_bytes = {kPrefetch};
    options.store = {{"endpoint", server->endpoint()},
                     {"region", "us-east-1"},
                     {"access_key_id", server->options().access_key},
                     {"secret_access_key", server->options().secret_key}};
    options.checkpoint.url = "file://" + (folder / "progress.json").string();  // so that all requests are the lanes'
    return options;
  }
  /// Nobody is connected, nothing is being sent, and nobody has asked for anything over `periods` idle ones.
  [[nodiscard]] bool quiet_for(int periods) const {
    const std::size_t asked = server->requests().size();
    for (int i = 0; i < periods; ++i) {
      idle_period(*server);
      const auto log = server->requests();
      if (log.size() != asked || server->open_connections() != 0) return false;
      if (!std::ranges::all_of(log, &millrace::testing::LoggedRequest::ended)) return false;
    }
    return true;
  }

  std::filesystem::path folder;
  std::shared_ptr<Capture> capture = std::make_shared<Capture>();
};

TEST_F(Paused, INV7_LanesHoldNoConnectionAndNoMoreThanTheirBudgetAndGoOn) {
  PipelineOptions settings;
  settings.name = "paused";
  settings.max_inflight_bytes = 64 * kWidth;
  testing::CaptureSinkOptions small;
  small.policy.max_records = 16;
  Pipeline pipeline(settings);
  pipeline.sink(CaptureSink::make(capture, small)).chain([](const ChainContext&) {
    return decode::raw() | encode::raw();
  });
  capture->hold();
  RunReport report;
  Thread run("run", [&] { report = pipeline.run(S3Source::make(options())); });
  ASSERT_TRUE(capture->wait_for_held(1));
  const auto blocked = [&] { return pipeline.snapshot().lanes_blocked == kLanes; };
  // A lane that was just told to pause may still be about to send a request; then a later round is the quiet one.
  int rounds = 0;
  while (rounds < 200 && !(quiet_for(5) && blocked())) ++rounds;
  EXPECT_LT(rounds, 200);

  const PipelineSnapshot shot = pipeline.snapshot();
  std::uint64_t asked_for = 0;
  const std::size_t begun = gets().size();
  for (const auto& get : gets()) asked_for += bytes_asked_for(get);
  EXPECT_GT(begun, 0U);
  // What the lanes have taken, and their budget; of each lane the chunk that it stands in was taken in part.
  EXPECT_LE(asked_for, shot.records_in * kWidth + kLanes * (kPrefetch + kChunk));
  EXPECT_LT(asked_for, kLines * kWidth) << "there is much left to be read";

  capture->release();
  run.join();
  ASSERT_EQ(report.state, ExitState::completed) << (report.error ? report.error->describe() : "");
  EXPECT_EQ(report.records_in, 2 * kLines);
  EXPECT_EQ(report.records_out, 2 * kLines);
  std::uint64_t in_all = 0;
  for (const auto& get : gets()) {
    in_all += bytes_asked_for(get);
    EXPECT_EQ(get.http.header("if-match"), *server->object("b", get.key)->etag);
  }
  EXPECT_EQ(in_all, 2 * kLines * kWidth) << "nothing was read twice";
}

// Killed in the middle of the second of three objects: every read of it after that carries the ETag of the manifest.
TEST_F(SourceOnServer, F01_AResumeInsideAnObjectPinsTheCommittedETag) {
  for (const char* key : {"in/a", "in/b", "in/c"})
    put(key, numbered(1'000, 10), {.etag = fmt::format("\"of-{}\"", key)});
  const auto small_reads = [](BackfillRig& source) {
    source.options.chunk_bytes = {500};
    source.options.prefetch_bytes = {2'000};
    source.flags.take_over = true;  // of the killed one, whose process lives on
  };
  small_reads(fresh());
  ASSERT_TRUE(rig->commit_and_die(1'500));
  const Manifest committed = stored();
  const LanePosition* position = committed.position(0);
  ASSERT_NE(position, nullptr);
  EXPECT_EQ(position->key, "in/b");
  EXPECT_EQ(position->etag, "\"of-in/b\"");
  server->clear_log();
  small_reads(fresh());
  run(*rig);
  ASSERT_EQ(problem(), "succeeded");
  Lines rest = numbered_lines(1'000, 10);
  rest.erase(rest.begin(), rest.begin() + 500);
  for (const std::string& line : numbered_lines(1'000, 10)) rest.push_back(line);
  EXPECT_EQ(lines(), rest);
  std::size_t of_b = 0;
  for (const auto& get : gets()) {
    ASSERT_TRUE(get.http.has_header("range"));
    EXPECT_NE(get.key, "in/a");
    EXPECT_EQ(get.http.header("if-match"), get.key == "in/b" ? position->etag : "\"of-in/c\"");
    of_b += get.key == "in/b" ? 1 : 0;
  }
  EXPECT_GE(of_b, 5U) << "10,000 bytes in reads of at most 2,000";
}

}  // namespace
}  // namespace millrace::s3_source
