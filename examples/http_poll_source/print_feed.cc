// SPDX-License-Identifier: Apache-2.0
// Prints what an HTTP API gives, one JSON document a line; run again, it goes on where it was.
//
//   print_feed http://127.0.0.1:8081 positions.txt /orders
#include <millrace/connectors/console.h>
#include <millrace/decode/json.h>
#include <millrace/encode/encode.h>
#include <millrace/log/log_sink.h>
#include <millrace/pipeline/pipeline.h>

#include <cstdio>
#include <cstdlib>

#include "http_source.h"

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: print_feed URL POSITIONS_FILE FEED...\n");
    return 2;
  }
  HttpSourceOptions from;
  from.url = argv[1];
  from.positions = argv[2];
  from.feeds.assign(argv + 3, argv + argc);
  if (const char* token = std::getenv("FEED_TOKEN")) from.token = token;

  namespace decode = millrace::decode;
  namespace encode = millrace::encode;
  const auto log = millrace::ProgramLog::make();
  millrace::Pipeline pipeline({.name = "print-feed"});
  pipeline.log(millrace::Logger(log, "print-feed", millrace::LogLevel::warn));
  const millrace::RunReport report =
      pipeline.sink(millrace::StdoutSink::make())
          .chain([](const millrace::ChainContext&) { return decode::json() | encode::json_lines(); })
          .run(HttpSource::make(from));

  log->flush();
  if (report.error) std::fprintf(stderr, "%s\n", report.error->describe().c_str());
  std::fprintf(stderr, "%s: %llu records; %s\n", std::string(to_string(report.state)).c_str(),
               static_cast<unsigned long long>(report.records_out), report.committed_summary.c_str());
  return report.exit_code();
}
