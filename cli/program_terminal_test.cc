// SPDX-License-Identifier: Apache-2.0
// The built program on a pseudo-terminal: the block that is redrawn, NO_COLOR, and the question before a reset.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

#include <string>

#include "cli/program_run.h"
#include "millrace/base/sync.h"

namespace millrace::cli_test {
namespace {

using testing::HasSubstr;
using testing::Not;

/// A person at a terminal: what the child prints is read until it says a word, then answered.
class Person {
 public:
  Person() { EXPECT_EQ(::openpty(&master_, &slave_, nullptr, nullptr, nullptr), 0); }
  ~Person() {
    ::close(master_);
    hang_up();
  }
  [[nodiscard]] int terminal() const { return slave_; }
  /// The child alone holds the terminal from now on.
  void hang_up() {
    if (slave_ >= 0) ::close(slave_);
    slave_ = -1;
  }
  /// Reads until `word` was shown, or to the end.
  void read_until(const std::string& word) {
    char block[4096];
    while (shown_.find(word) == std::string::npos) {
      const ssize_t count = ::read(master_, block, sizeof block);
      if (count <= 0) return;
      shown_.append(block, static_cast<std::size_t>(count));
    }
  }
  void read_all() { read_until(std::string(1, '\0')); }
  void type(const std::string& text) const {
    EXPECT_EQ(::write(master_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  [[nodiscard]] const std::string& shown() const { return shown_; }

 private:
  int master_ = -1;
  int slave_ = -1;
  std::string shown_;
};

struct OnATerminal : testing::Test {
  void SetUp() override {
    std::string text;
    for (int i = 0; i < 30'000; ++i) text += fmt::format("{{\"n\":{}}}\n", i);
    for (int i = 0; i < 4; ++i) folder.write(fmt::format("in/{}.ndjson", i), text);
  }
  /// What a person sees of a run that goes on until `word` was shown: nobody takes its records before.
  std::string seen_of_a_run(const std::vector<std::string>& more, const Environment& environment,
                            const std::string& word) {
    std::vector<std::string> arguments{"run", "--from", folder.url("in/"), "--to", "-"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    int records[2];
    EXPECT_EQ(::pipe2(records, O_CLOEXEC), 0);
    Person person;
    Child child(arguments, environment, {.out = records[1], .err = person.terminal()});
    ::close(records[1]);
    person.hang_up();
    person.read_until(word);
    Thread taker("taker", [&records] {
      char block[65536];
      while (::read(records[0], block, sizeof block) > 0) {
      }
    });
    person.read_all();
    taker.join();
    ::close(records[0]);
    EXPECT_EQ(child.wait().code, 0) << person.shown();
    return person.shown();
  }
  ScratchFolder folder;
};

TEST_F(OnATerminal, ProgressIsABlockThatIsGoneAtTheEnd) {
  const std::string seen = seen_of_a_run({"-v"}, {{"TERM", "xterm"}}, "\x1b[1mwriting");
  EXPECT_THAT(seen, HasSubstr(" records left to write"));
  EXPECT_THAT(seen, HasSubstr(" of 4 objects"));
  EXPECT_THAT(seen, HasSubstr("  lane 0 "));
  EXPECT_THAT(seen, HasSubstr("\x1b[JCompleted after "));  // erased, then the last lines
}

TEST_F(OnATerminal, NoColoursWithNoColor) {
  const std::string seen = seen_of_a_run({}, {{"TERM", "xterm"}, {"NO_COLOR", "1"}}, "writing");
  EXPECT_THAT(seen, HasSubstr("\x1b[J"));
  EXPECT_THAT(seen, Not(HasSubstr("\x1b[1m")));
}

TEST_F(OnATerminal, NoBlockOnADumbTerminal) {
  EXPECT_THAT(seen_of_a_run({}, {{"TERM", "dumb"}}, "listed"), Not(HasSubstr("\x1b")));
}

TEST_F(OnATerminal, AResetAsksFirst) {
  const std::vector<std::string> copy{"run", "--from", folder.url("in/"), "--to", folder.url("out/")};
  ASSERT_EQ(millrace(copy).code, 0);
  for (const std::string answer : {"\n", "n\n", "y\n"}) {
    Person asked;
    std::vector<std::string> reset = copy;
    reset.insert(reset.end(), {"--reset", "--progress", "none"});
    Child child(reset, {{"TERM", "xterm"}}, {.in = asked.terminal(), .err = asked.terminal()});
    asked.hang_up();
    asked.read_until("[y/N]");
    EXPECT_THAT(asked.shown(), HasSubstr("Forget the position kept at " + folder.url(".out.millrace-")));
    EXPECT_THAT(asked.shown(), HasSubstr("What was written stays"));
    asked.type(answer);
    asked.read_all();
    const bool yes = answer[0] == 'y';
    EXPECT_EQ(child.wait().code, yes ? 0 : 2) << asked.shown();
    EXPECT_THAT(asked.shown(), HasSubstr(yes ? "120,000 in" : "nothing was done"));
  }
}

}  // namespace
}  // namespace millrace::cli_test
