// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "millrace/base/sync.h"
#include "millrace/config/config.h"
#include "millrace/connectors/console.h"

namespace {

// Of the test that looks at them, on its own thread.
int g_syncs = 0;
int g_sync_error = 0;

}  // namespace

// Stands in front of the C library's: counts, and fails on demand.
extern "C" int fdatasync(int descriptor) {
  ++g_syncs;
  if (g_sync_error == 0) return static_cast<int>(::syscall(SYS_fdatasync, descriptor));
  errno = g_sync_error;
  return -1;
}

namespace millrace {
namespace {

using testing::HasSubstr;

SealedBatch batch(std::string_view bytes, std::uint64_t sequence = 0) {
  SealedBatch made;
  made.chunk.bytes.append(bytes);
  made.chunk.records = 1;
  made.token = {LaneId(0), sequence};
  return made;
}

std::unique_ptr<Writer> writer_to(int descriptor) {
  StdoutSinkOptions options;
  options.descriptor = descriptor;
  auto sink = StdoutSink::make(options);
  EXPECT_TRUE(sink);
  EXPECT_TRUE((*sink)->open({}));
  auto writer = (*sink)->make_writer();
  EXPECT_TRUE(writer);
  return *std::move(writer);
}

struct Pipe {
  Pipe() { EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0); }
  ~Pipe() {
    close_reader();
    close_writer();
  }
  void close_reader() { close(ends[0]); }
  void close_writer() { close(ends[1]); }
  static void close(int& end) {
    if (end >= 0) ::close(end);
    end = -1;
  }
  std::string read_all() {
    std::string all;
    char buffer[1000];
    for (ssize_t got; (got = ::read(ends[0], buffer, sizeof buffer)) > 0;)
      all.append(buffer, static_cast<std::size_t>(got));
    return all;
  }
  int ends[2] = {-1, -1};
};

class OfAFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "stdout-XXXXXX";
    const int made = ::mkstemp(pattern.data());
    ASSERT_GE(made, 0);
    ::close(made);
    path = pattern;
  }
  void TearDown() override { ::unlink(path.c_str()); }
  /// What the file holds after a run wrote `{"n":2}` to it, opened as a shell opens it.
  std::string after(const std::string& before, int flags) {
    std::ofstream(path, std::ios::binary) << before;
    const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | flags);
    EXPECT_GE(file, 0);
    {
      const auto writer = writer_to(file);
      auto one = batch("{\"n\":2}\n");
      EXPECT_TRUE(writer->write(one));
    }
    ::close(file);
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::string path;
};

TEST_F(OfAFile, INV1_NoRecordIsGluedToALineThatAKilledRunLeftTorn) {
  EXPECT_EQ(after("{\"n\":0}\n{\"n\":1", O_APPEND), "{\"n\":0}\n{\"n\":1\n{\"n\":2}\n");
  EXPECT_EQ(after("{", O_APPEND), "{\n{\"n\":2}\n");
}

TEST_F(OfAFile, WholeLinesAndEmptyFilesAreLeftAsTheyAre) {
  EXPECT_EQ(after("{\"n\":0}\n", O_APPEND), "{\"n\":0}\n{\"n\":2}\n");
  EXPECT_EQ(after("", O_APPEND), "{\"n\":2}\n");
  EXPECT_EQ(after("{\"n\":1", O_TRUNC), "{\"n\":2}\n");
}

// More than a pipe holds, read in odd pieces: every byte, once, in order.
TEST(Stdout, PartialWritesGoOn) {
  Pipe pipe;
  std::string body;
  for (int i = 0; body.size() < 1'000'000; ++i) body += "line " + std::to_string(i) + "\n";
  {
    Thread worker("writer", [&] {
      const auto writer = writer_to(pipe.ends[1]);
      SealedBatch first = batch(body, 0);
      SealedBatch second = batch("last\n", 1);
      EXPECT_EQ(writer->write(first)->bytes_written, body.size());
      EXPECT_TRUE(writer->write(second));
      pipe.close_writer();
    });
    EXPECT_EQ(pipe.read_all(), body + "last\n");
  }
}

// The descriptor may be shared with somebody who made it non-blocking: EAGAIN is a wait, not an error.
TEST(Stdout, ANonBlockingDescriptorIsWaitedFor) {
  Pipe pipe;
  ASSERT_EQ(::fcntl(pipe.ends[1], F_SETFL, O_NONBLOCK), 0);
  const std::string body(500'000, 'x');
  {
    Thread worker("writer", [&] {
      const auto writer = writer_to(pipe.ends[1]);
      SealedBatch sealed = batch(body);
      EXPECT_TRUE(writer->write(sealed));
      pipe.close_writer();
    });
    EXPECT_EQ(pipe.read_all(), body);
  }
}

// A closed reader is an error of the run, not the end of the process by SIGPIPE.
TEST(Stdout, AReaderThatHasGoneIsFatal) {
  Pipe pipe;
  const auto writer = writer_to(pipe.ends[1]);
  pipe.close_reader();
  SealedBatch sealed = batch("x\n");
  for (int i = 0; i < 2; ++i) {
    const auto written = writer->write(sealed);
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code(), ErrorCode::closed);
    EXPECT_TRUE(written.error().is_fatal());
    EXPECT_THAT(written.error().message(), HasSubstr("the reader of descriptor "));
  }
}

TEST(Stdout, AReaderThatGoesInTheMiddle) {
  Pipe pipe;
  std::optional<ErrorCode> code;
  {
    Thread worker("writer", [&] {
      const auto writer = writer_to(pipe.ends[1]);
      SealedBatch sealed = batch(std::string(1'000'000, 'x'));
      code = writer->write(sealed).error().code();
    });
    char some[100];
    EXPECT_GT(::read(pipe.ends[0], some, sizeof some), 0);
    pipe.close_reader();
  }
  EXPECT_EQ(code, ErrorCode::closed);
}

TEST(Stdout, AClosedDescriptorEndsTheStart) {
  Pipe pipe;
  StdoutSinkOptions options;
  options.descriptor = pipe.ends[1];
  pipe.close_writer();
  const auto sink = StdoutSink::make(options);
  const auto opened = (*sink)->open({});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), ErrorCode::closed);
}

// M06: the drain deadline has passed and the reader does not read.
TEST(Stdout, M06_CancelEndsAWriteThatWaits) {
  Pipe pipe;
  const auto writer = writer_to(pipe.ends[1]);
  std::optional<ErrorCode> code;
  {
    Thread worker("writer", [&] {
      SealedBatch sealed = batch(std::string(1'000'000, 'x'));
      code = writer->write(sealed).error().code();
    });
    char some[1];
    EXPECT_EQ(::read(pipe.ends[0], some, 1), 1) << "the write is under way";
    writer->cancel();
  }
  EXPECT_EQ(code, ErrorCode::cancelled);
}

TEST(Stdout, AFileTakesEverything) {
  char name[] = "/tmp/millrace-stdout-XXXXXX";
  const int file = ::mkstemp(name);
  const auto writer = writer_to(file);
  SealedBatch one = batch(std::string(100'000, 'a') + "\n", 0);
  SealedBatch two = batch("b\n", 1);
  EXPECT_TRUE(writer->write(one));
  EXPECT_TRUE(writer->write(two));
  std::ifstream back(name);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(back), {}), std::string(100'000, 'a') + "\nb\n");
  ::close(file);
  ::unlink(name);
}

class StdoutFile : public testing::Test {
 protected:
  StdoutFile() : file_(::mkstemp(name_)) { g_syncs = g_sync_error = 0; }
  ~StdoutFile() override {
    g_sync_error = 0;
    ::close(file_);
    ::unlink(name_);
  }
  char name_[32] = "/tmp/millrace-stdout-XXXXXX";
  const int file_;
};

// A position must not be committed ahead of a file that a power cut may take back.
TEST_F(StdoutFile, INV1_AFileIsSyncedBeforeSuccess) {
  const auto writer = writer_to(file_);
  SealedBatch one = batch("a\n", 0);
  SealedBatch two = batch("b\n", 1);
  EXPECT_TRUE(writer->write(one));
  EXPECT_EQ(g_syncs, 1);
  EXPECT_TRUE(writer->write(two));
  EXPECT_EQ(g_syncs, 2);
}

// The kernel reports a failed write-back once; a second sync would succeed although the bytes are gone.
TEST_F(StdoutFile, INV1_AFailedSyncIsNotTriedAgain) {
  const auto writer = writer_to(file_);
  for (const int why : {EIO, ENOSPC, EDQUOT}) {
    g_sync_error = why;
    SealedBatch sealed = batch("a\n", static_cast<std::uint64_t>(why));
    const auto written = writer->write(sealed);
    ASSERT_FALSE(written);
    EXPECT_TRUE(written.error().is_fatal());
    EXPECT_THAT(written.error().message(), HasSubstr("could not be made durable"));
  }
}

// Files of special file systems take no sync; it is no loss there.
TEST_F(StdoutFile, AFileThatHasNothingToSync) {
  const auto writer = writer_to(file_);
  g_sync_error = EINVAL;
  SealedBatch sealed = batch("a\n");
  EXPECT_TRUE(writer->write(sealed));
}

TEST_F(StdoutFile, APipeIsNotSynced) {
  Pipe pipe;
  const auto writer = writer_to(pipe.ends[1]);
  SealedBatch sealed = batch("a\n");
  EXPECT_TRUE(writer->write(sealed));
  EXPECT_EQ(g_syncs, 0);
}

// A sync takes milliseconds whatever it covers, so a file gets larger batches than a person.
TEST_F(StdoutFile, BatchesFitWhatStdoutIs) {
  Pipe pipe;
  const auto most = [](int descriptor) {
    StdoutSinkOptions options;
    options.descriptor = descriptor;
    return (*StdoutSink::make(options))->seal_policy().max_bytes;
  };
  EXPECT_GT(most(file_), most(pipe.ends[1]));
}

// /dev/full answers ENOSPC: tried again by the engine, then the run fails; never taken for written (K22).
TEST(Stdout, K22_AFullDiskIsNotSuccess) {
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(full, 0);
  const auto writer = writer_to(full);
  SealedBatch sealed = batch("x\n");
  const auto written = writer->write(sealed);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code(), ErrorCode::out_of_space);
  ::close(full);
}

TEST(Stdout, WhatItAsksOfTheEngine) {
  const auto raw = StdoutSink::make();
  EXPECT_EQ((*raw)->encode_spec().format, EncodeFormat::raw);
  EXPECT_EQ((*raw)->encode_spec().delimiter, "\n");
  EXPECT_TRUE((*raw)->traits().ordered);
  EXPECT_EQ((*raw)->traits().concurrency, 1U);
  EXPECT_LE((*raw)->seal_policy().max_age, std::chrono::milliseconds(250));
  EXPECT_GT((*raw)->seal_policy().max_age, Duration(0));
  const SinkKind kind = StdoutSink::kind();
  const auto config =
      Config::parse("a: {format: JSON_LINES, wrap: true}\nb: {wrap: true}\nc: {descriptor: 2}\n", "p.yaml");
  ASSERT_TRUE(config);
  const auto wrapped = kind.make(config->section("a"), {});
  ASSERT_TRUE(wrapped);
  EXPECT_EQ((*wrapped)->encode_spec().format, EncodeFormat::json_lines);
  EXPECT_TRUE((*wrapped)->encode_spec().wrap);
  EXPECT_EQ(kind.validate(config->section("b")).error().message(),
            "p.yaml:2:11: b.wrap: has a meaning with format json_lines only");
  EXPECT_FALSE(kind.validate(config->section("c")));
}

}  // namespace
}  // namespace millrace
