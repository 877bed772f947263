// SPDX-License-Identifier: Apache-2.0
// Goal: `millrace explain` shows the data's way through a pipeline of any source and sink, opens nothing and tells no
// secret. Method: the built program; the table of examples/hello.yaml was written by hand from its file and the
// defaults of the pages in docs/connectors.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/program_run.h"

namespace millrace::cli_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Json = nlohmann::json;

constexpr const char* kHello =
    R"( #  stage       thread          what stands there, and what it holds at most
 1  get         fetch I/O       s3 source file:///srv/examples/data/earthquakes/; reads of 2.0 MiB at most, 64 at a time (requests_in_flight)
               32.0 MiB  read ahead      4 lanes x prefetch_bytes (8.0 MiB)
               64.6 MiB  reads           65,540 reads at a time, what stands around their bytes
 2  codec       lane x4         gzip, zstd, none: by name, Content-Encoding and first bytes (compression: auto)
                2.0 MiB  windows         4 lanes x decoded bytes (256.0 KiB), and those before them
              516.0 MiB  decoders        one in each lane with compressed objects, by their names (zstd_window_log_max, xz_memory_limit)
 3  framing     lane x4         ndjson (format), records of 64.0 MiB at most (max_record_bytes)
                8.1 MiB  chunks at work  4 lanes x the read of 2.0 MiB that is being framed
              512.0 MiB  long records    2 x one record in each lane that is put together from pieces (max_record_bytes, 64.0 MiB)
 4  source      lane x4         4 lanes (lanes), to which the objects that are listed are dealt in turn; on as many threads as cores (pipeline.threads)
        100 B an object  listing         beside its key
         48 B an object  kept listing    beside twice its key and its ETag, to be kept beside the manifest
 5  decode      lane x4         nothing: payloads pass as they came
 7  encode      lane x4         raw, '\n' behind each record
 8  seal        lane x4         seals at 8.0 MiB or 5m
              288.0 MiB  open output     4 lanes x a file or chunk of 8.0 MiB and one record more, 64.0 MiB as written
              128.0 MiB  spare output    8 buffers for the next chunks
              328.0 MiB  sealed output   pipeline.max_inflight_bytes (256.0 MiB), and one batch more
 9  write       sink I/O x4     s3 sink puts objects below file:///srv/build/hello/out/; a write that fails: stall
                4.0 MiB  writers         4 writers, 1.0 MiB each
10  ack         sink I/O, lane  settled where the last copy of a batch ends, durable or left out
                3.0 MiB  positions       4 lanes x 4096 batches that wait for their writes (checkpoint.max_pending_batches)
11  checkpoint  control         positions up to the first batch that is open, committed each 5s (checkpoint.interval)
12  commit      manifest I/O    manifest file:///srv/build/hello/manifest.json
beside them
               24.0 MiB  program         code, libraries, threads
for records of 64.0 MiB at most (max_record_bytes)

path_template )";

/// Codecs that are optional are in the list when they were found.
std::string without_optional_codecs(std::string text) {
  for (const std::string name : {"bz2, ", "xz, ", "lz4, "}) {
    if (const std::size_t at = text.find(name); at != std::string::npos) text.erase(at, name.size());
  }
  return text;
}

TEST(ExplainProgram, TheTableOfTheExample) {
  const std::string file = std::string(MILLRACE_SOURCE_FOLDER) + "/examples/hello.yaml";
  const Ended told = millrace({"explain", file}, {{"PWD", "/srv"}});
  EXPECT_EQ(told.code, 0) << told.err;
  EXPECT_EQ(without_optional_codecs(told.out.substr(0, told.out.find("{stream}"))), kHello);
  EXPECT_THAT(told.out, HasSubstr("can two files have one key?")) << "and then how objects are called";
}

struct ExplainedFile : ::testing::Test {
  /// `explain --format json` of a file, which has to end well.
  [[nodiscard]] Json explained(const std::string& yaml) const {
    const Ended told = millrace({"explain", folder.write("p.yaml", yaml), "--format", "json"});
    EXPECT_EQ(told.code, 0) << told.err;
    EXPECT_THAT(told.out + told.err, Not(HasSubstr("hunter2")));
    Json json = Json::parse(told.out, nullptr, false);
    EXPECT_FALSE(json.is_discarded()) << told.out;
    return json;
  }
  /// "stage: what stands there".
  static std::vector<std::string> rows(const Json& json) {
    std::vector<std::string> lines;
    for (const Json& row : json["stages"])
      lines.push_back(fmt::format("{}: {}", row.value("stage", ""), row.value("here", "")));
    return lines;
  }
  ScratchFolder folder;
};

/// All rows of a stream that nobody keeps, committed each 2 s.
std::vector<std::string> rows_of_stream(const std::string& get, const std::string& source, const std::string& decode,
                                        const std::string& commit) {
  return {"get: " + get,
          "source: " + source + "; on as many threads as cores (pipeline.threads)",
          "decode: " + decode,
          "encode: nothing: records are counted",
          "seal: seals at 8.0 MiB or 65,536 records or 1s",
          "write: blackhole sink; a write that fails: stall",
          "ack: settled where the last copy of a batch ends, durable or left out",
          "checkpoint: positions up to the first batch that is open, committed each 2s (checkpoint.interval)",
          "commit: " + commit};
}

TEST_F(ExplainedFile, AStreamHasNoCodecAndNoFraming) {
  const Json json = explained(
      "source: {iggy: {address: \"127.0.0.1:1\", username: u, password: hunter2, stream: logs, topics: [api],\n"
      "  consumer_group: g}}\n"
      "decode: {json: {on_error: skip}}\n"
      "checkpoint: {interval: 2s}\n"
      "sink: {blackhole: {}}\n");
  EXPECT_EQ(
      rows(json),
      rows_of_stream("iggy source 127.0.0.1:1, stream logs, topic api; 1000 messages a request (batch_length)",
                     "as many lanes as partitions that the group 'g' gives",
                     "json, a document a payload, on_error skip", "offsets of the group 'g', kept by the server"));
  EXPECT_EQ(json["stages"][0]["threads"], 2);
  EXPECT_EQ(json["stages"][0]["holds"][0]["each"], "lane");
  EXPECT_EQ(json["stages"][0]["holds"][0]["bytes"], 2 * (8 + 64) << 20);
  EXPECT_FALSE(json["stages"][1].contains("threads")) << "nobody knows how many partitions there will be";
  EXPECT_FALSE(json.contains("keys")) << "a sink that names no objects";
}

#ifdef MILLRACE_HAS_KAFKA
TEST_F(ExplainedFile, KafkaIsNotAsked) {
  const Json json = explained(
      "source: {kafka: {brokers: [\"127.0.0.1:1\"], topics: [orders], group: g, partitions: [0, 1],\n"
      "  properties: {sasl.password: hunter2}}}\n"
      "checkpoint: {interval: 2s}\n"
      "sink: {blackhole: {}}\n");
  EXPECT_EQ(rows(json),
            rows_of_stream("kafka source 127.0.0.1:1, topic orders",
                           "a lane for each of partitions 0, 1 of each topic (partitions)",
                           "nothing: payloads pass as they came", "positions of the group 'g', kept by the brokers"));
  EXPECT_EQ(json["stages"][1]["threads"], 2);
  EXPECT_EQ(json["stages"][0]["holds"][0]["bytes"], (2 * 16) << 20);
}
#endif

TEST_F(ExplainedFile, TransformsLettersAndObjects) {
  const Json json =
      explained(fmt::format("source: {{s3: {{url: {}, checkpoint: {{url: {}}}, store: {{access_key_id: AKIDEXAMPLE, "
                            "secret_access_key: hunter2}}}}}}\n"
                            "decode: {{json: {{on_error: skip}}}}\n"
                            "transforms:\n"
                            "  - add_fields: {{fields: [{{key: token, value: {{static: hunter2}}}}]}}\n"
                            "  - delete_fields: {{fields: [a]}}\n"
                            "sink: {{s3: {{url: {}, secret_access_key: hunter2, access_key_id: AKIDEXAMPLE}}}}\n"
                            "dead_letter: {{stdout: {{format: json_lines}}}}\n",
                            "s3://in-bucket/in/", folder.url("ck/m.json"), "s3://out-bucket/out/"));
  const std::vector<std::string> all = rows(json);
  ASSERT_EQ(all.size(), 15U);
  EXPECT_EQ(all[5], "transforms: add_fields, delete_fields");
  EXPECT_EQ(all[6], "encode: json_lines of wrapped payloads with metadata");
  EXPECT_EQ(all[7], "encode: dead letters: json_lines of letters");
  EXPECT_EQ(all[8], "seal: seals at 8.0 MiB or 5m");
  EXPECT_EQ(all[10], "write: s3 sink puts objects below s3://out-bucket/out/; a write that fails: stall");
  EXPECT_EQ(all[11], "write: dead letters: stdout sink; a write that fails: fail after 3 attempts");
  EXPECT_TRUE(json.contains("keys"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "ck")) << "nothing is opened";
}

TEST_F(ExplainedFile, ACopyHasAPositionThatGoesWithIt) {
  const Ended told = millrace({"explain", "--from", folder.url("in/"), "--to", "-"});
  EXPECT_EQ(told.code, 0) << told.err;
  EXPECT_THAT(told.out, HasSubstr("nothing that is kept: the position goes with the run\n"));
  EXPECT_THAT(told.out, HasSubstr("stdout sink; a write that fails: fail after 3 attempts\n"));
  EXPECT_THAT(told.out, Not(HasSubstr("manifest.json")));
}

TEST_F(ExplainedFile, ASampleNeedsASinkThatNamesObjects) {
  const Ended told = millrace({"explain", "--from", folder.url("in/"), "--to", "-", "--records", "/nowhere"});
  EXPECT_EQ(told.code, 2);
  EXPECT_EQ(told.out, "");
  EXPECT_THAT(told.err, StartsWith("error: --records: the sink stdout names no objects"));
}

}  // namespace
}  // namespace millrace::cli_test
