// SPDX-License-Identifier: Apache-2.0
// One record to several sinks: every line goes to the archive as it came; alarms also go where somebody looks, the rest
// is only counted. The source's position moves on when all of them have what they were sent.
#include <millrace/decode/json.h>
#include <millrace/decode/raw.h>
#include <millrace/encode/encode.h>
#include <millrace/ops/ops.h>
#include <millrace/pipeline/pipeline.h>
#include <millrace/testing/capture_sink.h>
#include <millrace/testing/memory_source.h>

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

namespace {

bool is_alarm(std::string_view line) { return line.starts_with("ALARM "); }

void print(const char* name, const millrace::testing::Capture& sink) {
  for (const std::string& line : sink.lines()) std::printf("%s: %s\n", name, line.c_str());
}

}  // namespace

int main() {
  const auto topic = std::make_shared<millrace::testing::MemoryTopic>(1);
  for (const std::string_view line : {"ok pump 1", "ALARM valve 7 stuck", "ok pump 2", "ALARM no pressure"}) {
    topic->append(millrace::PartitionId(0), std::string(line));
  }
  topic->end();
  const auto archive = std::make_shared<millrace::testing::Capture>();
  const auto pager = std::make_shared<millrace::testing::Capture>();

  namespace decode = millrace::decode;
  namespace ops = millrace::ops;
  namespace encode = millrace::encode;
  millrace::Pipeline pipeline({.name = "alarms"});
  const millrace::RunReport report =
      pipeline.sink("archive", millrace::testing::CaptureSink::make(archive))
          .sink("pager", millrace::testing::CaptureSink::make(pager))
          .chain([](const millrace::ChainContext&) {
            return decode::text() |
                   ops::fan_out(encode::raw().to("archive"),
                                ops::split(ops::when(is_alarm, encode::json_lines({.wrap = true}).to("pager")),
                                           ops::otherwise(encode::discard().to("pager"))));
          })
          .run(millrace::testing::MemorySource::make(topic));

  print("archive", *archive);
  print("pager", *pager);
  std::fprintf(stderr, "%s: %d in, committed at %d\n", std::string(to_string(report.state)).c_str(),
               static_cast<int>(report.records_in), static_cast<int>(report.committed.at(0).watermark.value()));
  return report.exit_code();
}
