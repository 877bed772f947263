// SPDX-License-Identifier: Apache-2.0
// What is shipped for tests, and the formats, under the suites. Nothing here needs anything outside.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "millrace/decode/csv.h"
#include "millrace/decode/json.h"
#include "millrace/decode/raw.h"
#include "millrace/encode/encode.h"
#include "millrace/framing/formats.h"
#include "millrace/pipeline/compile.h"
#include "millrace/testing/capture_sink.h"
#include "millrace/testing/conformance_tests.h"
#include "millrace/testing/decoder_conformance.h"
#include "millrace/testing/framer_conformance.h"
#include "millrace/testing/memory_source.h"
#include "millrace/testing/sink_conformance.h"
#include "millrace/testing/source_conformance.h"

namespace millrace::testing {
namespace {

using conformance::DecoderSamples;
using conformance::FramerSamples;
using conformance::SinkUnderTest;
using conformance::SourceUnderTest;

SourceUnderTest memory_source(bool bounded) {
  auto topic = std::make_shared<MemoryTopic>(2);
  for (int i = 0; i < 4; ++i) {
    for (const PartitionId partition : topic->partitions()) topic->append(partition, fmt::format("record {}", i));
  }
  if (bounded) topic->end();
  MemorySourceOptions options;
  options.bounded = bounded;
  const std::shared_ptr<MemoryScript> script = options.script;
  SourceUnderTest made;
  made.make = [topic, options] { return MemorySource::make(topic, options); };
  made.records = 8;
  made.committed = [topic] { return topic->committed(); };
  made.fail_commit = [topic] { topic->fail_commits({Error::retryable(ErrorCode::unavailable, "no commit now")}); };
  if (bounded) return made;
  made.more = [topic] { topic->append(PartitionId(0), "one more"); };
  made.rebalance = [topic, script] {
    script->then(MemoryScript::revoke_inside({LaneId(0), LaneId(1)}));
    script->then(MemoryScript::assign(topic->partitions()));
  };
  return made;
}

SinkUnderTest capture_sink() {
  auto capture = std::make_shared<Capture>();
  SinkUnderTest made;
  CaptureSinkOptions options;
  options.traits.concurrency = 2;
  made.make = [capture, options] { return CaptureSink::make(capture, options); };
  made.durable = [capture] { return capture->lines(); };
  made.fail_next = [capture] {
    capture->fail_next(1, Error::retryable(ErrorCode::unavailable, "the destination is busy"));
  };
  return made;
}

conformance::FramerMaker format(std::string_view name) {
  return [name](const FramerOptions& options) { return framer_of_format(name)(options); };
}

std::string long_line(std::size_t bytes) { return std::string(bytes, 'a') + "\n"; }

// Frames were worked out by hand from formats/*/README.md.
FramerSamples lines() {
  FramerSamples made;
  made.good = {{"a\nb\r\n\nlast", {{"a", "b", "", "last"}}}, {"\n", {{""}}}, {"", {std::vector<std::string>()}}};
  made.long_record = long_line;
  return made;
}
FramerSamples ndjson() {
  FramerSamples made;
  made.good = {{"\xEF\xBB\xBF{\"a\":1}\n\n  \r\n{\"b\":2}\r\n[3]", {{"{\"a\":1}", "{\"b\":2}", "[3]"}}},
               {"\n\n", {std::vector<std::string>()}}};
  made.long_record = long_line;
  return made;
}
FramerSamples raw() {
  FramerSamples made;
  made.good = {{"a\0b\nc", std::nullopt}, {"one\ntwo\nthree\n", std::nullopt}};
  return made;
}
FramerSamples json_array() {
  FramerSamples made;
  made.good = {{R"([{"a":"]"}, 2 ,"three,",[4,[5]]] )", {{R"({"a":"]"})", "2", R"("three,")", "[4,[5]]"}}},
               {"[ ]", {std::vector<std::string>()}}};
  made.bad = {"[1,2", "{}", "[1 2]", "[1],[2]"};
  made.long_record = [](std::size_t bytes) { return "[\"" + std::string(bytes, 'a') + "\"]"; };
  return made;
}
FramerSamples csv() {
  FramerSamples made;
  made.good = {
      {"id,text\n1,\"two\nlines\"\n2,\"say \"\"so\"\"\"\r\n3,", {{"1,\"two\nlines\"", "2,\"say \"\"so\"\"\"", "3,"}}}};
  made.bad = {"id,text\n1,\"never closed\n2,b\n"};
  made.long_record = [](std::size_t bytes) { return "id\n" + std::string(bytes, 'a') + "\n"; };
  return made;
}

template <class MakePart>
conformance::DecoderFactory decoding(MakePart make_part) {
  return [make_part](const ChainContext& context, OnError on_error) {
    return compile(make_part(on_error) | encode::raw(), context);
  };
}

DecoderSamples json_samples() {
  DecoderSamples made;
  made.good = {R"({"a":1,"b":[true,null,"x"]})", R"("a\u00e9")", "12.5e3"};
  made.bad = {"{", R"({"a":1}})", "nul", "[1,]", "\"\xff\""};
  return made;
}
DecoderSamples csv_samples() {
  auto origin = std::make_shared<Origin>();
  auto columns = std::make_shared<Columns>();
  columns->names = {"id", "text"};
  origin->columns = std::move(columns);
  DecoderSamples made;
  made.good = {"1,a", "2,\"b \"\"c\"\"\"", ",\"two\nlines\""};
  made.bad = {"1", "1,2,3", "1,\xff"};
  made.origin = std::move(origin);
  return made;
}

[[maybe_unused]] const int kRegistered[] = {
    register_conformance("MemorySource", conformance::source_rules([] { return memory_source(false); })),
    register_conformance("BoundedMemorySource", conformance::source_rules([] { return memory_source(true); })),
    // It keeps what it is given, as a destination that knows no batches does.
    register_conformance("CaptureSink", conformance::sink_rules(capture_sink, {.idempotent = false})),
    register_conformance("LinesFramer", conformance::framer_rules(format("lines"), lines())),
    register_conformance("NdjsonFramer", conformance::framer_rules(format("ndjson"), ndjson())),
    register_conformance("RawFramer", conformance::framer_rules(format("raw"), raw())),
    register_conformance("JsonArrayFramer", conformance::framer_rules(format("json_array"), json_array())),
    register_conformance("CsvFramer", conformance::framer_rules(format("csv"), csv())),
    register_conformance("RawDecoder", conformance::decoder_rules(decoding([](OnError) { return decode::raw(); }),
                                                                  {.good = {"a", std::string("b\0c", 3)}})),
    register_conformance("TextDecoder", conformance::decoder_rules(decoding([](OnError on_error) {
                                                                     return decode::text({.on_error = on_error});
                                                                   }),
                                                                   {.good = {"a", "\u00e9"}, .bad = {"\xff", "\xc3"}})),
    register_conformance("JsonDecoder", conformance::decoder_rules(decoding([](OnError on_error) {
                                                                     return decode::json({.on_error = on_error});
                                                                   }),
                                                                   json_samples())),
    register_conformance("CsvDecoder", conformance::decoder_rules(decoding([](OnError on_error) {
                                                                    return decode::csv({.on_error = on_error});
                                                                  }),
                                                                  csv_samples())),
};

}  // namespace
}  // namespace millrace::testing
