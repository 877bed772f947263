// SPDX-License-Identifier: Apache-2.0
// The built program as a person runs it, over files: what it prints where, how it ends, and every bad input that needs
// no server.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/program_run.h"
#include "millrace/version.h"

namespace millrace::cli_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

std::string lines(int count, const std::string& name = "n") {
  std::string text;
  for (int i = 0; i < count; ++i) text += fmt::format("{{\"{}\":{}}}\n", name, i);
  return text;
}

std::string all_of(const std::map<std::string, std::string>& files) {
  std::string text;
  for (const auto& [name, bytes] : files) text += bytes;
  return text;
}

struct Program : testing::Test {
  /// A pipeline file over in/ and out/, with `more` lines at its end.
  [[nodiscard]] std::string pipeline(const std::string& more = "", const std::string& source_more = "") const {
    return folder.write("p.yaml",
                        fmt::format("source:\n"
                                    "  s3:\n"
                                    "    url: {}\n"
                                    "    lanes: 2\n"
                                    "    checkpoint: {{url: {}}}\n"
                                    "{}"
                                    "sink:\n"
                                    "  s3: {{url: {}, output_format: raw, delimiter: \"\\n\"}}\n"
                                    "{}",
                                    folder.url("in/"), folder.url("m.json"), source_more, folder.url("out/"), more));
  }
  ScratchFolder folder;
};

TEST_F(Program, VersionAndHelp) {
  const Ended version = millrace({"--version"});
  EXPECT_EQ(version.code, 0);
  EXPECT_EQ(version.out, "millrace " MILLRACE_VERSION "\n");
  EXPECT_EQ(version.err, "");
  for (const char* command : {"run", "plan", "validate", "status", "verify", "describe"}) {
    const Ended help = millrace({command, "--help"});
    EXPECT_EQ(help.code, 0) << command;
    EXPECT_THAT(help.out, HasSubstr("\nUsage:\n"));
    EXPECT_THAT(help.out, HasSubstr("\nExamples:\n"));
    EXPECT_EQ(help.err, "");
  }
  const Ended nothing = millrace({});
  EXPECT_EQ(nothing.code, 2);
  EXPECT_EQ(nothing.out, "");
  EXPECT_THAT(nothing.err, HasSubstr("Commands:"));
}

TEST_F(Program, CopiesFromToByteForByteAndKnowsWhenNothingIsLeft) {
  folder.write("in/a.ndjson", "{\"a\": 1.50}\r\n\n{\"a\":2}");
  folder.write("in/sub/b.ndjson", lines(1000, "b"));
  const std::vector<std::string> copy{"run", "--from", folder.url("in/"), "--to", folder.url("out/")};
  const Ended first = millrace(copy);
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(first.out, "");
  EXPECT_THAT(first.err, HasSubstr("Completed after "));
  EXPECT_THAT(first.err, HasSubstr("1,002 in, 1,002 out, 0 skipped"));
  EXPECT_THAT(first.err, HasSubstr(folder.url(".out.millrace-")));  // where the position is kept
  const std::string out = all_of(folder.files("out"));
  EXPECT_THAT(out, HasSubstr("{\"a\": 1.50}\n{\"a\":2}\n"));
  EXPECT_THAT(out, HasSubstr(lines(1000, "b")));
  EXPECT_EQ(out.size(), std::string("{\"a\": 1.50}\n{\"a\":2}\n").size() + lines(1000, "b").size());
  for (const auto& [name, bytes] : folder.files("out")) EXPECT_THAT(name, testing::EndsWith(".ndjson"));

  const Ended second = millrace(copy);
  EXPECT_EQ(second.code, 0) << second.err;
  EXPECT_THAT(second.err, HasSubstr("0 in, 0 out, 0 skipped"));
  EXPECT_EQ(all_of(folder.files("out")), out);
}

TEST_F(Program, PrintConfigIsAFileThatDoesTheSame) {
  folder.write("in/a.ndjson", lines(10));
  const Ended printed =
      millrace({"run", "--from", folder.url("in/"), "--to", folder.url("out/"), "--set",
                "sink.s3.max_messages_per_file=4", "--set", "source.s3.lanes=1", "--set", "sink.s3.access_key_id=me",
                "--set", "sink.s3.secret_access_key=hunter2", "--print-config"});
  EXPECT_EQ(printed.code, 0) << printed.err;
  EXPECT_EQ(printed.err, "");
  EXPECT_THAT(printed.out, Not(HasSubstr("hunter2")));
  EXPECT_THAT(folder.files("out"), IsEmpty());

  const Ended clean = millrace({"run", "--from", folder.url("in/"), "--to", folder.url("out/"), "--set",
                                "sink.s3.max_messages_per_file=4", "--set", "source.s3.lanes=1", "--print-config"});
  const std::string file = folder.write("printed.yaml", clean.out);
  EXPECT_EQ(millrace({"run", file, "--print-config"}).out, clean.out);
  EXPECT_EQ(millrace({"validate", file}).out, file + ": ok\n");
  const Ended ran = millrace({"run", file});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(folder.files("out").size(), 3U);  // 4 + 4 + 2
  EXPECT_EQ(all_of(folder.files("out")), lines(10));
}

TEST_F(Program, StdoutCarriesRecordsAndNothingElse) {
  folder.write("in/a.ndjson", lines(5000));
  const Ended ended = millrace({"run", "--from", folder.url("in/"), "--to", "-", "--log-level", "debug"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.out, lines(5000));
  EXPECT_THAT(ended.err, HasSubstr("millrace " MILLRACE_VERSION));
  EXPECT_THAT(ended.err, Not(HasSubstr("\x1b")));  // no colours and no cursor off a terminal
  const Ended again = millrace({"run", "--from", folder.url("in/"), "--to", "-"});
  EXPECT_EQ(again.out, lines(5000));  // nothing was kept
}

TEST_F(Program, AClosedStdoutEndsTheRunFailedAndNotWithACrash) {
  folder.write("in/a.ndjson", lines(5000));
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  ::close(ends[0]);
  Child child({"run", "--from", folder.url("in/"), "--to", "-"}, {}, {.out = ends[1]});
  ::close(ends[1]);
  const Ended ended = child.wait();
  EXPECT_EQ(ended.signal, 0);
  EXPECT_EQ(ended.code, 1) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("Failed after "));
}

TEST_F(Program, ProgressJsonAndLogJsonAreJsonLineByLine) {
  folder.write("in/a.ndjson", lines(10));
  const Ended ended = millrace({"run", pipeline(), "--progress", "json", "--log-format", "json"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  nlohmann::json last;
  for (const std::string& line : lines_of(ended.err)) {
    last = nlohmann::json::parse(line, nullptr, false);
    EXPECT_FALSE(last.is_discarded()) << line;
  }
  EXPECT_EQ(last["type"], "summary");
  EXPECT_EQ(last["state"], "Completed");
  EXPECT_EQ(last["exit_code"], 0);
  EXPECT_EQ(last["records_in"], 10);
}

TEST_F(Program, StatusBeforeAndAfterARun) {
  folder.write("in/a.ndjson", lines(10));
  const std::string file = pipeline();
  const Ended before = millrace({"status", file});
  EXPECT_EQ(before.code, 0) << before.err;
  EXPECT_NE(before.out, "");
  EXPECT_EQ(millrace({"run", file}).code, 0);
  const Ended after = millrace({"status", file});
  EXPECT_EQ(after.code, 0) << after.err;
  EXPECT_NE(after.out, before.out);
  const Ended json = millrace({"status", file, "--format", "json"});
  EXPECT_FALSE(nlohmann::json::parse(json.out, nullptr, false).is_discarded()) << json.out;
}

TEST_F(Program, DescribesEverythingInThreeForms) {
  const Ended list = millrace({"describe"});
  EXPECT_EQ(list.code, 0);
  for (const char* name : {"pipeline", "s3-source", "s3-sink", "stdout-sink", "blackhole-sink", "iggy-source",
                           "iggy-sink", "kafka-source", "kafka-sink", "store"}) {
    EXPECT_THAT(list.out, HasSubstr(name));
    const Ended text = millrace({"describe", name});
    EXPECT_EQ(text.code, 0) << text.err;
    EXPECT_THAT(text.out, StartsWith(std::string(name) + "\n"));
    EXPECT_THAT(millrace({"describe", name, "--format", "markdown"}).out, StartsWith(fmt::format("# {}\n", name)));
    const Ended schema = millrace({"describe", name, "--format", "json-schema"});
    EXPECT_FALSE(nlohmann::json::parse(schema.out, nullptr, false).is_discarded()) << schema.out;
  }
  EXPECT_THAT(millrace({"describe", "s3-source"}).out, HasSubstr("lanes  (integer, "));
  const Ended both = millrace({"describe", "s3"});
  EXPECT_THAT(both.out, HasSubstr("s3-source\n"));
  EXPECT_THAT(both.out, HasSubstr("\ns3-sink\n"));
  const Ended none = millrace({"describe", "s3-suorce"});
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("there is no component 's3-suorce'; did you mean 's3-source'?"));
}

// A page that no longer says what the program says is written anew by the command on its last line.
TEST_F(Program, TheReferencePagesAreWhatItPrints) {
  for (const char* name : {"pipeline", "s3-source", "s3-sink", "stdout-sink", "blackhole-sink", "iggy-source",
                           "iggy-sink", "kafka-source", "kafka-sink", "transforms", "store"}) {
    const std::filesystem::path page = fmt::format("{}/docs/connectors/{}.md", MILLRACE_SOURCE_FOLDER, name);
    std::ifstream file(page, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    std::string printed = millrace({"describe", name, "--format", "markdown"}).out;
    if (const std::size_t note = printed.find(" Left out of this build"); note != std::string::npos) {
      printed.erase(note, printed.find('.', note) + 1 - note);  // the pages are those of a build with every codec
    }
    EXPECT_EQ(text, printed) << page;
  }
}

struct BadFile {
  const char* name;
  const char* yaml;
  const char* message;  ///< behind the file's name
};
void PrintTo(const BadFile& bad, std::ostream* out) { *out << bad.name; }

class BadConfig : public testing::TestWithParam<BadFile> {};

TEST_P(BadConfig, IsRefusedWithItsPlaceBeforeAnythingIsOpened) {
  const ScratchFolder folder;
  folder.write("in/a.ndjson", "{}\n");
  const std::string file =
      folder.write("p.yaml", fmt::format(fmt::runtime(GetParam().yaml), fmt::arg("in", folder.url("in/")),
                                         fmt::arg("m", folder.url("m.json")), fmt::arg("out", folder.url("out/"))));
  const std::string expected = file + GetParam().message;
  for (const char* command : {"run", "validate", "status"}) {
    const Ended ended = millrace({command, file});
    EXPECT_EQ(ended.code, 2) << command << ": " << ended.err;
    EXPECT_EQ(ended.out, "") << command;
    EXPECT_THAT(ended.err, HasSubstr(expected)) << command;
  }
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "m.json"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "out"));
}

constexpr BadFile kBadFiles[] = {
    {"UnknownKey", "source:\n  s3: {{url: {in}, lanez: 3, checkpoint: {{url: {m}}}}}\nsink: {{stdout: {{}}}}\n", ":2:"},
    {"UnknownKeyNearest",
     "source:\n  s3:\n    lanez: 3\n    url: {in}\n    checkpoint: {{url: {m}}}\nsink: {{stdout: {{}}}}\n",
     ":3:5: source.s3.lanez: unknown key; did you mean 'lanes'?"},
    {"WrongType",
     "source:\n  s3:\n    lanes: many\n    url: {in}\n    checkpoint: {{url: {m}}}\nsink: {{stdout: {{}}}}\n",
     ":3:12: source.s3.lanes: expects an integer, found 'many'"},
    {"DuplicateKey",
     "source:\n  s3:\n    lanes: 1\n    url: {in}\n    lanes: 2\n    checkpoint: {{url: {m}}}\nsink: {{stdout: "
     "{{}}}}\n",
     ":5:5: source.s3.lanes: given twice; first on line 3"},
    {"MissingRequired", "source:\n  s3: {{url: {in}}}\nsink: {{stdout: {{}}}}\n", ":2:3: source.s3.checkpoint"},
    {"OutOfRange",
     "source:\n  s3:\n    lanes: 0\n    url: {in}\n    checkpoint: {{url: {m}}}\nsink: {{stdout: {{}}}}\n",
     ":3:12: source.s3.lanes: 0 is out of range"},
    {"Null", "source:\n  s3:\n    url:\n    checkpoint: {{url: {m}}}\nsink: {{stdout: {{}}}}\n",
     ":3:5: source.s3.url: expects a string, found nothing (null)"},
    {"BadVariable", "source:\n  s3: {{url: \"${{NOT_SET_ANYWHERE}}\"}}\nsink: {{stdout: {{}}}}\n",
     ":2:14: variable NOT_SET_ANYWHERE is not set"},
    {"Tab", "source:\n\ts3: {{}}\n", ":2:4: cannot be read as YAML: a tab cannot indent a line; use spaces"},
    {"Anchor", "source: &a {{}}\nsink: *a\n", ":1:9: anchors ('&name') are not supported"},
    {"LaterSection", "source: {{s3: {{url: {in}, checkpoint: {{url: {m}}}}}}}\nsink: {{stdout: {{}}}}\nsinks: []\n",
     ":3:1: sinks: this version of millrace does not have it yet; write one `sink:`"},
    {"UnknownConnector", "source: {{s4: {{}}}}\nsink: {{stdout: {{}}}}\n",
     ":1:10: source.s4: unknown; did you mean 's3'?"},
    {"NoSink", "source: {{s3: {{url: {in}, checkpoint: {{url: {m}}}}}}}\n",
     ":1:1: sink: is required: one of s3, iggy, kafka, stdout, blackhole"},
    {"RawWithoutDelimiter",
     "source: {{s3: {{url: {in}, checkpoint: {{url: {m}}}}}}}\nsink: {{s3: {{url: {out}, output_format: raw}}}}\n",
     ":2:"},
};
INSTANTIATE_TEST_SUITE_P(Files, BadConfig, testing::ValuesIn(kBadFiles),
                         [](const auto& row) { return std::string(row.param.name); });

TEST_F(Program, AMissingFileIsNamed) {
  const std::string file = (folder.path() / "none.yaml").string();
  for (const char* command : {"run", "validate", "status"}) {
    const Ended ended = millrace({command, file});
    EXPECT_EQ(ended.code, 2);
    EXPECT_EQ(ended.err, file + ": cannot be read: No such file or directory\n");
  }
}

TEST_F(Program, ValidateTellsEveryProblemOfEveryFile) {
  const std::string good = pipeline();
  const std::string bad = folder.write("bad.yaml", "pipeline: {nam: x, threads: y}\nsource: {s4: {}}\n");
  const Ended ended = millrace({"validate", bad, good});
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.out, good + ": ok\n");
  EXPECT_THAT(lines_of(ended.err),
              ElementsAre(bad + ":1:12: pipeline.nam: unknown key; did you mean 'name'?",
                          bad + ":1:29: pipeline.threads: expects an integer, found 'y'",
                          bad + ":2:10: source.s4: unknown; did you mean 's3'?",
                          bad + ":1:1: sink: is required: one of s3, iggy, kafka, stdout, blackhole"));
}

TEST_F(Program, AnOutputThatWouldBeReadIsRefused) {
  const std::string file = folder.write(
      "p.yaml", fmt::format("source: {{s3: {{url: {}, checkpoint: {{url: {}}}}}}}\nsink: {{s3: {{url: {}}}}}\n",
                            folder.url("in/"), folder.url("m.json"), folder.url("in/out/")));
  for (const char* command : {"run", "validate"}) {
    const Ended ended = millrace({command, file});
    EXPECT_EQ(ended.code, 2) << ended.err;
    EXPECT_THAT(ended.err, StartsWith(file + ":2:8: sink.s3: the sink writes below "));
  }
}

TEST_F(Program, AManifestUnderThePrefixIsRefused) {
  folder.write("in/a.ndjson", "{}\n");
  const Ended ended = millrace({"run", "--from", folder.url("in/"), "--to", folder.url("out/"), "--set",
                                "source.s3.checkpoint.url=" + folder.url("in/m.json")});
  EXPECT_EQ(ended.code, 2) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("source.s3.checkpoint.url"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "in/m.json"));
}

}  // namespace
}  // namespace millrace::cli_test
