// SPDX-License-Identifier: Apache-2.0
// Which temporary files may be removed, and that the first put into a folder does so.
#include "store/file/temporary_name.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "store/file/file_store.h"

namespace millrace {
namespace {

constexpr std::int64_t kDay = 24 * 60 * 60;

/// The name that a process gave which has ended since.
std::string name_of_the_dead() {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string name = TemporaryName::make(7);
    const bool told = ::write(ends[1], name.data(), name.size()) == static_cast<ssize_t>(name.size());
    ::_exit(told ? 0 : 1);
  }
  ::close(ends[1]);
  char buffer[200];
  const ssize_t size = ::read(ends[0], buffer, sizeof buffer);
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  return {buffer, size > 0 ? static_cast<std::size_t>(size) : 0};
}

TEST(TemporaryName, WhoseProcessIsGoneIsAbandoned) {
  EXPECT_TRUE(TemporaryName::is_abandoned(name_of_the_dead(), 0));
  EXPECT_FALSE(TemporaryName::is_abandoned(TemporaryName::make(1), 0)) << "this process lives";
  EXPECT_TRUE(TemporaryName::is_one(TemporaryName::make(1)));
  EXPECT_FALSE(TemporaryName::is_one(".millrace-lock"));
  EXPECT_NE(TemporaryName::make(1), TemporaryName::make(2));
}

/// `name` with another number between its last two dashes: when its process began.
std::string begun_at(std::string name, std::string_view start) {
  const auto random = name.rfind('-');
  const auto at = name.rfind('-', random - 1) + 1;
  return name.replace(at, random - at, start);
}

TEST(TemporaryName, OfALivingProcessIsNeverAbandoned) {
  EXPECT_FALSE(TemporaryName::is_abandoned(TemporaryName::make(1), 400 * kDay));
  EXPECT_FALSE(TemporaryName::is_abandoned(TemporaryName::make(1) + ".upload", 400 * kDay));
  EXPECT_TRUE(TemporaryName::is_abandoned(begun_at(TemporaryName::make(1), "1"), 0)) << "its pid came again";
}

// Names as they were before the time stood in them, and where it could not be told.
TEST(TemporaryName, WithoutATimeALivingPidSaysNothingForADay) {
  const std::string name = TemporaryName::make(1);
  std::string before = begun_at(name, "");
  before.erase(before.rfind("--"), 1);
  for (const std::string& untold : {before, before + ".1-0123456789abcdef", begun_at(name, "0")}) {
    EXPECT_FALSE(TemporaryName::is_abandoned(untold, kDay - 1)) << untold;
    EXPECT_TRUE(TemporaryName::is_abandoned(untold, kDay + 1)) << untold;
  }
}

TEST(TemporaryName, IdOf) {
  const std::string id = TemporaryName::make(1);
  for (const char* ending : {"", ".upload", ".1", ".1-0123456789abcdef"}) {
    EXPECT_EQ(TemporaryName::id_of(id + ending), id);
  }
}

// The same pid means another process in another container, on another machine, or after a boot.
TEST(TemporaryName, APidFromElsewhereSaysNothingForADay) {
  std::string elsewhere = name_of_the_dead();
  char& digit = elsewhere[std::string_view(".millrace-put-").size()];
  digit = digit == '0' ? '1' : '0';
  for (const std::string& name : {elsewhere, std::string(".millrace-put-3ffffe-0123456789abcdef"),
                                  std::string(".millrace-put-"), std::string(".millrace-put-0-1-1")}) {
    EXPECT_FALSE(TemporaryName::is_abandoned(name, kDay - 1)) << name;
    EXPECT_TRUE(TemporaryName::is_abandoned(name, kDay + 1)) << name;
  }
}

TEST(TemporaryName, TheFirstPutIntoAFolderRemovesTheAbandoned) {
  char scratch[] = "/tmp/millrace-temporary-XXXXXX";
  const std::filesystem::path root = ::mkdtemp(scratch);
  const std::filesystem::path folder = root / "out";
  std::filesystem::create_directories(folder);
  const auto make = [&](const std::string& name) {
    std::ofstream(folder / name) << "half";
    return folder / name;
  };
  const auto dead = make(name_of_the_dead());
  const auto alive = make(TemporaryName::make(1));
  const auto unknown = make(".millrace-put-3ffffe-0123456789abcdef");
  const auto own = make("data.ndjson");
  const auto beside = root / name_of_the_dead();
  std::ofstream(beside) << "half";
  const auto store = make_file_store({.root = root, .read_threads = 0}, {});
  ASSERT_TRUE(store->put({.key = "out/new", .body = "x"}));
  EXPECT_FALSE(std::filesystem::exists(dead));
  for (const auto& path : {alive, unknown, own, beside}) EXPECT_TRUE(std::filesystem::exists(path)) << path;
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace millrace
