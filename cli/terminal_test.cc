// SPDX-License-Identifier: Apache-2.0
// The terminal, on a pseudo-terminal and on a pipe: what reaches the other side, byte by byte.
#include "cli/terminal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace millrace::cli {
namespace {

/// Both ends of a pseudo-terminal of 20 columns, whose output is taken as it is.
class PseudoTerminal {
 public:
  PseudoTerminal() {
    winsize size{};
    size.ws_col = 20;
    size.ws_row = 10;
    termios raw{};
    ::cfmakeraw(&raw);
    EXPECT_EQ(::openpty(&master_, &slave_, nullptr, &raw, &size), 0);
    EXPECT_NE(::fcntl(master_, F_SETFL, O_NONBLOCK), -1);
  }
  ~PseudoTerminal() {
    ::close(master_);
    ::close(slave_);
  }
  [[nodiscard]] int slave() const { return slave_; }
  [[nodiscard]] std::string read() const {
    std::string text(4096, '\0');
    const ssize_t count = ::read(master_, text.data(), text.size());
    text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    return text;
  }

 private:
  int master_ = -1;
  int slave_ = -1;
};

struct TerminalTest : testing::Test {
  void SetUp() override {
    ::setenv("TERM", "xterm", 1);
    ::unsetenv("NO_COLOR");
  }
  PseudoTerminal pty;
};

TEST_F(TerminalTest, RedrawsOneBlockInPlace) {
  Terminal terminal(pty.slave());
  EXPECT_TRUE(terminal.can_redraw());
  EXPECT_EQ(terminal.width(), 20U);
  terminal.draw({"one", "two"});
  EXPECT_EQ(pty.read(), "one\ntwo\n");
  terminal.draw({"three"});
  EXPECT_EQ(pty.read(), "\x1b[2A\r\x1b[Jthree\n");
  terminal.write("a log line\n");
  EXPECT_EQ(pty.read(), "\x1b[1A\r\x1b[Ja log line\nthree\n");
  terminal.clear();
  EXPECT_EQ(pty.read(), "\x1b[1A\r\x1b[J");
  terminal.write("the end\n");
  EXPECT_EQ(pty.read(), "the end\n");
}

TEST_F(TerminalTest, LinesAreCutAtTheWidthCountingCharactersOnly) {
  Terminal terminal(pty.slave());
  terminal.draw({std::string(30, 'x'), "\x1b[1m\xC3\xA9\xC3\xA9\x1b[0m" + std::string(30, 'y')});
  EXPECT_EQ(pty.read(), std::string(19, 'x') + "\n\x1b[1m\xC3\xA9\xC3\xA9\x1b[0m" + std::string(17, 'y') + "\n");
}

TEST_F(TerminalTest, NoColourWhereItIsNotWantedAndNoBlockOnADumbTerminal) {
  EXPECT_TRUE(Terminal(pty.slave()).has_colours());
  ::setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(Terminal(pty.slave()).has_colours());
  EXPECT_TRUE(Terminal(pty.slave()).can_redraw());
  ::setenv("TERM", "dumb", 1);
  EXPECT_FALSE(Terminal(pty.slave()).can_redraw());
}

TEST(Terminal, APipeGetsPlainTextAndNoBlock) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  {
    Terminal terminal(ends[1]);
    EXPECT_FALSE(terminal.can_redraw());
    EXPECT_FALSE(terminal.has_colours());
    terminal.draw({"never"});
    terminal.write("line\n");
  }
  ::close(ends[1]);
  char text[64];
  const ssize_t count = ::read(ends[0], text, sizeof text);
  EXPECT_EQ(std::string(text, static_cast<std::size_t>(count)), "line\n");
  ::close(ends[0]);
}

TEST(Terminal, HarmlessTextKeepsLinesOnly) {
  EXPECT_EQ(harmless("a\nb\t\x1b[31m\x7f\\x \xC3\xA9\xFF"), "a\nb\\x09\\x1b[31m\\x7f\\x \xC3\xA9\\xff");
}

}  // namespace
}  // namespace millrace::cli
