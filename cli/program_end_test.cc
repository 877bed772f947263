// SPDX-License-Identifier: Apache-2.0
// How runs of the built program end: stopped, aborted, failed on bad input, refused on another job's position. Nothing
// is ever committed past what failed.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <set>
#include <string>
#include <utility>

#include "cli/program_run.h"

namespace millrace::cli_test {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string lines(int count, int from = 0) {
  std::string text;
  for (int i = 0; i < count; ++i) text += fmt::format("{{\"n\":{},\"pad\":\"{:0100}\"}}\n", from + i, i);
  return text;
}

/// A pipe whose reading end the test holds.
class Pipe {
 public:
  Pipe() { EXPECT_EQ(::pipe2(ends_, O_CLOEXEC), 0); }
  ~Pipe() {
    close_reader();
    close_writer();
  }
  void close_reader() {
    if (ends_[0] >= 0) ::close(ends_[0]);
    ends_[0] = -1;
  }
  [[nodiscard]] int writer() const { return ends_[1]; }
  void close_writer() {
    if (ends_[1] >= 0) ::close(ends_[1]);
    ends_[1] = -1;
  }
  /// At least `least` bytes, or what there is until the writer is gone.
  std::string read(std::size_t least) {
    std::string text;
    char block[65536];
    while (text.size() < least) {
      const ssize_t count = ::read(ends_[0], block, sizeof block);
      if (count <= 0) break;
      text.append(block, static_cast<std::size_t>(count));
    }
    return text;
  }

 private:
  int ends_[2] = {-1, -1};
};

struct Ending : testing::Test {
  [[nodiscard]] std::vector<std::string> to_stdout() const {
    return {
        "run", "--from", folder.url("in/"), "--to", "-", "--set", "source.s3.checkpoint.url=" + folder.url("m.json")};
  }
  [[nodiscard]] std::vector<std::string> copy(std::vector<std::string> more = {}) const {
    std::vector<std::string> all{"run",
                                 "--from",
                                 folder.url("in/"),
                                 "--to",
                                 folder.url("out/"),
                                 "--set",
                                 "source.s3.checkpoint.url=" + folder.url("m.json")};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  [[nodiscard]] std::multiset<std::string> written() const {
    std::multiset<std::string> found;
    for (const auto& [name, bytes] : folder.files("out")) {
      for (std::size_t at = 0; at < bytes.size();) {
        const std::size_t end = std::min(bytes.find('\n', at), bytes.size());
        found.insert(bytes.substr(at, end - at));
        at = end + 1;
      }
    }
    return found;
  }
  ScratchFolder folder;
};

// The reader of stdout takes little, so the run is in its middle when the signal comes; then it takes all there is.
// As `ulimit -f` and systemd's LimitFSIZE set it, whose signal would end the program without a word.
TEST_F(Ending, AFileThatMayNotGrowIsAnErrorAndNoDeath) {
  folder.write("in/a.ndjson", lines(1000));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{16U << 10U, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);  // the program inherits it
  const Ended ended = millrace(copy());
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(ended.signal, 0);
  EXPECT_EQ(ended.code, 1) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("ulimit -f"));
  EXPECT_THAT(ended.err, HasSubstr("0 of 1 objects committed"));
  EXPECT_EQ(millrace(copy()).code, 0) << "nothing of it stands in the way";
}

TEST_F(Ending, K10_SigtermCommitsWhatIsWrittenAndAnotherRunGoesOn) {
  constexpr int kObjects = 8;
  constexpr int kLines = 20'000;
  std::string input;
  for (int i = 0; i < kObjects; ++i) {
    const std::string text = lines(kLines, i * kLines);
    folder.write(fmt::format("in/{}.ndjson", i), text);
    input += text;
  }
  Pipe pipe;
  Child child(to_stdout(), {}, {.out = pipe.writer()});
  pipe.close_writer();
  std::string first = pipe.read(100'000);
  ASSERT_GE(first.size(), 100'000U);
  child.signal(SIGTERM);
  first += pipe.read(std::string::npos);
  const Ended stopped = child.wait();
  EXPECT_EQ(stopped.code, 3) << stopped.err;
  EXPECT_THAT(stopped.err, HasSubstr("Stopped after "));
  EXPECT_THAT(stopped.err, HasSubstr("go on with: millrace run --from "));
  ASSERT_LT(first.size(), input.size());

  const Ended rest = millrace(to_stdout());
  EXPECT_EQ(rest.code, 0) << rest.err;
  const auto split = [](const std::string& text) {
    std::set<std::string> all;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      if (end == std::string::npos) break;
      all.insert(text.substr(at, end - at));
      at = end + 1;
    }
    return all;
  };
  EXPECT_EQ(split(first + rest.out), split(input));
}

TEST_F(Ending, ASecondSignalEndsAtOnceWithItsNumber) {
  folder.write("in/a.ndjson", lines(50'000));
  for (const int number : {SIGINT, SIGTERM}) {
    Pipe pipe;  // nobody reads it, so the run cannot end by itself
    Child child(to_stdout(), {}, {.out = pipe.writer()});
    pipe.close_writer();
    ASSERT_GE(pipe.read(1).size(), 1U);
    child.signal(number);
    ASSERT_TRUE(eventually([&] { return child.err().find("a second signal ends at once") != std::string::npos; }))
        << child.err();
    child.signal(number);
    const Ended ended = child.wait();
    EXPECT_EQ(ended.code, 128 + number) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("stopped at once"));
  }
}

// M06: a drain that cannot end, ends by its deadline: Failed, with what is open, and another run gives it again.
TEST_F(Ending, M06_AStopThatCannotBeFinishedIsFailed) {
  folder.write("in/a.ndjson", lines(50'000));
  std::vector<std::string> arguments = to_stdout();
  arguments.insert(arguments.end(), {"--set", "pipeline.drain_timeout=300ms"});
  Pipe pipe;
  Child child(arguments, {}, {.out = pipe.writer()});
  pipe.close_writer();
  ASSERT_GE(pipe.read(1).size(), 1U);
  child.signal(SIGTERM);
  const Ended ended = child.wait();
  EXPECT_EQ(ended.code, 1) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("Failed after "));
}

// A closed stdout ends the run Failed. `| head` is no catastrophe: one line says it, and the summary.
TEST_F(Ending, AReaderOfStdoutThatGoesIsToldOnce) {
  for (int i = 0; i < 4; ++i) folder.write(fmt::format("in/{}.ndjson", i), lines(20'000, i * 20'000));
  Pipe pipe;
  Child child(to_stdout(), {}, {.out = pipe.writer()});
  pipe.close_writer();
  ASSERT_GE(pipe.read(1).size(), 1U);
  pipe.close_reader();
  const Ended ended = child.wait();
  EXPECT_EQ(ended.code, 1) << ended.err;
  const std::string told = "the reader of standard output went away";
  const std::size_t log = ended.err.find(told);
  ASSERT_NE(log, std::string::npos) << ended.err;
  EXPECT_EQ(ended.err.find("  error      " + told, log), ended.err.find(told, log + 1) - 13) << ended.err;
  EXPECT_EQ(ended.err.find(told, ended.err.find(told, log + 1) + 1), std::string::npos) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("component=sink "));
  EXPECT_THAT(ended.err, Not(HasSubstr("partition")));
  EXPECT_THAT(ended.err, Not(HasSubstr("in time")));
}

// A port that another process holds is an error before anything moves, and the address is in its text.
TEST_F(Ending, AnAdminAddressInUseIsNamed) {
  folder.write("in/a.ndjson", lines(50'000));
  Pipe pipe;  // nobody reads it, so the first run goes on
  std::vector<std::string> arguments = to_stdout();
  arguments.insert(arguments.end(), {"--set", "metrics.listen=127.0.0.1:0"});
  Child first(arguments, {}, {.out = pipe.writer()});
  const std::string mark = "at=127.0.0.1:";
  ASSERT_TRUE(eventually([&] { return first.err().find(mark) != std::string::npos; })) << first.err();
  const std::string err = first.err();
  const std::size_t begin = err.find(mark) + 3;
  const std::string address = err.substr(begin, err.find_first_of(" \n", begin) - begin);
  const Ended second = millrace(copy({"--set", "metrics.listen=" + address}));
  EXPECT_EQ(second.code, 2) << second.err;
  EXPECT_THAT(second.err, HasSubstr(address));
  EXPECT_TRUE(written().empty());
}

TEST_F(Ending, E06_AnEmptyPrefixIsAWarningOrAFailure) {
  std::filesystem::create_directories(folder.path() / "in");
  const Ended warned = millrace(copy());
  EXPECT_EQ(warned.code, 0) << warned.err;
  EXPECT_THAT(warned.err, HasSubstr(" warn  "));
  EXPECT_THAT(warned.err, HasSubstr(folder.url("in/")));
  const Ended failed = millrace(copy({"--set", "source.s3.on_empty=fail", "--reset", "--yes"}));
  EXPECT_EQ(failed.code, 1) << failed.err;
  EXPECT_THAT(failed.err, HasSubstr(folder.url("in/")));
}

TEST_F(Ending, D01_ATruncatedGzipFailsAndNothingIsCommittedPastIt) {
  // gzip of "{\"n\":1}\n" x 1000, cut: made by hand from a stored block, so that no tool is needed.
  const std::string body(5000, 'x');
  std::string gzip("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", 10);
  gzip += '\x01';
  gzip += static_cast<char>(10000 & 0xFF);
  gzip += static_cast<char>(10000 >> 8);
  gzip += static_cast<char>(~10000 & 0xFF);
  gzip += static_cast<char>((~10000 >> 8) & 0xFF);
  folder.write("in/b.ndjson.gz", gzip + body);
  for (int i = 0; i < 3; ++i) {
    const Ended ended = millrace(copy());
    EXPECT_EQ(ended.code, 1) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("b.ndjson.gz"));
    EXPECT_THAT(ended.err, HasSubstr("Failed after "));
  }
}

TEST_F(Ending, C05_ALineOverTheLimitFailsWithKeyLineAndLimit) {
  folder.write("in/a.ndjson", "{\"n\":1}\n{\"n\":\"" + std::string(5000, 'x') + "\"}\n");
  const Ended ended = millrace(copy({"--set", "source.s3.max_record_bytes=4KiB"}));
  EXPECT_EQ(ended.code, 1) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("a.ndjson"));
  EXPECT_THAT(ended.err, HasSubstr("max_record_bytes"));
}

TEST_F(Ending, F09_APositionOfOtherSettingsIsRefusedByNameUntilItIsReset) {
  folder.write("in/a.ndjson", lines(10));
  folder.write("other/a.ndjson", lines(10));
  ASSERT_EQ(millrace(copy()).code, 0);
  const Ended lanes = millrace(copy({"--set", "source.s3.lanes=3"}));
  EXPECT_EQ(lanes.code, 1) << lanes.err;
  EXPECT_THAT(lanes.err, HasSubstr("lanes"));
  EXPECT_THAT(lanes.err, HasSubstr("--reset"));
  const Ended filter = millrace(copy({"--set", "source.s3.include=[\"*.ndjson\"]"}));
  EXPECT_EQ(filter.code, 1) << filter.err;
  EXPECT_THAT(filter.err, HasSubstr("include"));
  std::vector<std::string> elsewhere = copy();
  elsewhere[2] = folder.url("other/");
  const Ended job = millrace(elsewhere);
  EXPECT_EQ(job.code, 1) << job.err;
  EXPECT_THAT(job.err, HasSubstr(folder.url("in/")));
  EXPECT_THAT(job.err, HasSubstr(folder.url("other/")));

  const Ended unasked = millrace(copy({"--reset", "--set", "source.s3.lanes=3"}));
  EXPECT_EQ(unasked.code, 2) << unasked.err;
  EXPECT_THAT(unasked.err, HasSubstr("--yes"));
  EXPECT_THAT(unasked.err, HasSubstr("empty the output first"));
  const Ended reset = millrace(copy({"--reset", "--yes", "--set", "source.s3.lanes=3"}));
  EXPECT_EQ(reset.code, 0) << reset.err;
  EXPECT_THAT(reset.err, HasSubstr("10 in, 10 out"));
}

TEST_F(Ending, F01_AnObjectOverwrittenBelowAPositionFails) {
  folder.write("in/a.ndjson", lines(10));
  ASSERT_EQ(millrace(copy()).code, 0);
  folder.write("in/a.ndjson", lines(12));
  const Ended ended = millrace(copy());
  EXPECT_EQ(ended.code, 1) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("a.ndjson"));
}

TEST_F(Ending, F13_AnExpectedPositionThatIsNotThereFails) {
  folder.write("in/a.ndjson", lines(10));
  const Ended ended = millrace(copy({"--expect-resume"}));
  EXPECT_EQ(ended.code, 1) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr(folder.url("m.json")));
  EXPECT_TRUE(written().empty());
  ASSERT_EQ(millrace(copy()).code, 0);
  EXPECT_EQ(millrace(copy({"--expect-resume"})).code, 0);
}

TEST_F(Ending, F10_ACorruptPositionIsRefusedWithoutAFreshStart) {
  folder.write("in/a.ndjson", lines(10));
  for (const std::string& junk :
       {std::string(), std::string("{}"), std::string("\xEF\xBB\xBF{"), std::string(5000, 'x')}) {
    folder.write("m.json", junk);
    const Ended ended = millrace(copy());
    EXPECT_EQ(ended.code, 1) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr(folder.url("m.json")));
    EXPECT_TRUE(written().empty());
    const Ended status = millrace({"status", "--from", folder.url("in/"), "--to", folder.url("out/"), "--set",
                                   "source.s3.checkpoint.url=" + folder.url("m.json")});
    EXPECT_NE(status.code, 0);
  }
}

TEST_F(Ending, C07_BadRecordsFailOrAreSkippedAndCounted) {
  folder.write("in/a.ndjson", "{\"n\":1}\n{\"n\":\n{\"n\":3}\n");
  const std::vector<std::string> skip{"--set", "decode.json.on_error=skip", "--reset", "--yes"};
  const Ended failed = millrace(copy({"--set", "decode.json.on_error=fail"}));
  EXPECT_EQ(failed.code, 1) << failed.err;
  EXPECT_THAT(failed.err, HasSubstr("a.ndjson"));
  const Ended skipped = millrace(copy(skip));
  EXPECT_EQ(skipped.code, 0) << skipped.err;
  EXPECT_THAT(skipped.err, HasSubstr("3 in, 2 out, 1 skipped ("));
  std::vector<std::string> strict = skip;
  strict.emplace_back("--fail-on-skipped");
  const Ended counted = millrace(copy(strict));
  EXPECT_EQ(counted.code, 4) << counted.err;
  EXPECT_THAT(counted.err, HasSubstr("--fail-on-skipped"));
}

// The server of a stream keeps its positions: nothing says that they are gone, and what only a manifest can do is
// refused.
TEST_F(Ending, ARunOverAStreamThatFailsGoesOnFromWhereItsServerKeeps) {
  const std::string file = folder.write("stream.yaml",
                                        "source:\n  iggy: {address: \"127.0.0.1:1\", username: u, password: p, stream: "
                                        "s, topics: [t], consumer_group: g, "
                                        "connect_timeout: 100ms}\nsink:\n  blackhole: {}\n");
  const Ended failed = millrace({"run", file});
  EXPECT_EQ(failed.code, 1) << failed.err;
  EXPECT_THAT(failed.err, HasSubstr("  next       when the cause is gone, go on with: millrace run " + file));
  EXPECT_THAT(failed.err, HasSubstr("  committed  "));
  EXPECT_THAT(failed.err, Not(HasSubstr("begins anew")));
  for (const auto& [option, instead] : {std::pair{"--reset", "another group"},
                                        {"--expect-resume", "start: stored"},
                                        {"--take-over", "take over from each other"},
                                        {"--retry-quarantined", "sets no objects aside"}}) {
    const Ended refused = millrace({"run", file, option});
    EXPECT_EQ(refused.code, 2) << option << refused.err;
    EXPECT_THAT(refused.err, testing::AllOf(HasSubstr(option), HasSubstr("iggy"), HasSubstr(instead)));
  }
  const Ended status = millrace({"status", file});
  EXPECT_EQ(status.code, 1) << status.out;
  EXPECT_THAT(status.err, HasSubstr("connecting to Iggy at 127.0.0.1:1"));
  EXPECT_THAT(millrace({"plan", file}).err, HasSubstr("millrace explain"));
}

}  // namespace
}  // namespace millrace::cli_test
