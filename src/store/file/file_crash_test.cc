// SPDX-License-Identifier: Apache-2.0
// Goal: kill -9 during a put leaves the old object or the new one, never half, and never one older than what was
// acknowledged. Method: a child puts version after version and reports each success through a pipe; the parent kills it
// after some number of reports, at whatever instant that is, and reads what is there.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "store/file/file_store.h"

namespace millrace {
namespace {

constexpr std::size_t kSize = 300'000;

/// Version `number`: the number, then bytes that follow from it.
std::string version(std::uint32_t number) {
  std::string body = std::to_string(number) + "\n";
  body.resize(kSize + number % 7, static_cast<char>('a' + number % 26));
  return body;
}

[[noreturn]] void put_for_ever(const std::string& root, int report, PutCondition condition) {
  {
    const auto store = make_file_store({.root = root, .read_threads = 0}, {});
    ETag etag;
    for (std::uint32_t number = 1;; ++number) {
      const std::string body = version(number);
      // The first version has nothing to match.
      const auto put = store->put({.key = "deep/er/object",
                                   .body = body,
                                   .condition = number == 1 ? PutCondition::none : condition,
                                   .etag = etag});
      if (!put) break;
      etag = put->etag;
      if (::write(report, "x", 1) != 1) break;
    }
  }
  ::_exit(1);
}

void kill_and_look(PutCondition condition, std::uint32_t reports) {
  char name[] = "/tmp/millrace-crash-XXXXXX";
  const std::string root = ::mkdtemp(name);
  int pipe_ends[2];
  ASSERT_EQ(::pipe(pipe_ends), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::close(pipe_ends[0]);
    put_for_ever(root, pipe_ends[1], condition);
  }
  ::close(pipe_ends[1]);
  char byte = 0;
  std::uint32_t acknowledged = 0;
  while (acknowledged < reports && ::read(pipe_ends[0], &byte, 1) == 1) ++acknowledged;
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status)) << "the child ended by itself";
  while (::read(pipe_ends[0], &byte, 1) == 1) ++acknowledged;
  ::close(pipe_ends[0]);

  const auto store = make_file_store({.root = root}, {});
  const auto object = store->get("deep/er/object", 10U << 20U);
  if (acknowledged == 0 && !object) {
    EXPECT_EQ(object.error().code(), ErrorCode::not_found);
  } else if (object) {
    const auto number = static_cast<std::uint32_t>(std::stoul(object->bytes));
    EXPECT_GE(number, acknowledged) << "an acknowledged version is gone";
    EXPECT_LE(number, acknowledged + 1);
    EXPECT_TRUE(object->bytes == version(number)) << "half of version " << number;
  } else {
    ADD_FAILURE() << object.error().message();
  }
  // What the crash left behind is not listed, and the next put succeeds in spite of it.
  const auto page = store->list({.prefix = "deep/"});
  ASSERT_TRUE(page);
  EXPECT_LE(page->objects.size(), 1U);
  EXPECT_TRUE(store->put({.key = "deep/er/object", .body = "after"}));
  std::filesystem::remove_all(root);
}

TEST(FileCrash, INV1_KillDuringPutLeavesOldOrNew) {
  for (std::uint32_t reports = 0; reports < 12; ++reports) kill_and_look(PutCondition::none, reports);
}

TEST(FileCrash, INV1_KillDuringConditionalPutLeavesOldOrNew) {
  for (std::uint32_t reports = 0; reports < 12; ++reports) kill_and_look(PutCondition::if_match, reports);
}

}  // namespace
}  // namespace millrace
