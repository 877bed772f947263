// SPDX-License-Identifier: Apache-2.0
// Loads what an HTTP API gives into a table of PostgreSQL, each record exactly once, however often it is killed and
// started again.
//
//   load_feed postgresql://localhost/shop orders http://127.0.0.1:8081 positions.txt /orders
#include <millrace/decode/json.h>
#include <millrace/encode/encode.h>
#include <millrace/log/log_sink.h>
#include <millrace/pipeline/pipeline.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "http_source.h"
#include "postgres_sink.h"

namespace {

millrace::StopHandle stop;

void on_signal(int /*signal*/) { stop.request(); }

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) {
    std::fprintf(stderr, "usage: load_feed CONNECTION TABLE URL POSITIONS_FILE FEED...\n");
    return 2;
  }
  PostgresSinkOptions to;
  to.connection = argv[1];
  to.table = argv[2];
  HttpSourceOptions from;
  from.url = argv[3];
  from.positions = argv[4];
  from.feeds.assign(argv + 5, argv + argc);
  if (const char* token = std::getenv("FEED_TOKEN")) from.token = token;
  from.follow = std::getenv("FEED_FOLLOW") != nullptr;

  namespace decode = millrace::decode;
  namespace encode = millrace::encode;
  const auto log = millrace::ProgramLog::make();
  millrace::Pipeline pipeline({.name = "load-feed"});
  pipeline.log(millrace::Logger(log, "load-feed"));
  stop = pipeline.stop_handle();
  std::signal(SIGTERM, on_signal);
  std::signal(SIGINT, on_signal);
  const millrace::RunReport report =
      pipeline.sink(PostgresSink::make(to))
          .chain([](const millrace::ChainContext&) { return decode::json() | encode::json_lines(); })
          .run(HttpSource::make(from));

  log->flush();
  if (report.error) std::fprintf(stderr, "%s\n", report.error->describe().c_str());
  std::fprintf(stderr, "%s: %llu records loaded, %llu were there already; %s\n",
               std::string(to_string(report.state)).c_str(), static_cast<unsigned long long>(report.records_out),
               static_cast<unsigned long long>(report.records_left_out), report.committed_summary.c_str());
  return report.exit_code();
}
