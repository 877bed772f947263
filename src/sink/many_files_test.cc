// SPDX-License-Identifier: Apache-2.0
// Thousands of open files: found, spilled and sealed as if they were few, within the bound of memory and with one
// descriptor for all. What comes out is compared with a model.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "millrace/testing/sealed_shelf.h"
#include "sink/scratch_folder.h"

namespace millrace {
namespace {

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

TEST(Spool, ThousandsOfFilesTakeOneDescriptorAndLeaveNothing) {
  const sink_test::ScratchFolder folder;
  const auto spool = Spool::open(folder.path(), 0);
  ASSERT_TRUE(spool);
  const std::size_t before = open_descriptors();
  std::vector<std::unique_ptr<SpillFile>> files;
  std::vector<std::string> expected(3000);
  for (std::size_t i = 0; i < expected.size(); ++i) files.push_back((*spool)->create());
  for (std::size_t round = 0; round < 5; ++round) {
    for (std::size_t i = 0; i < files.size(); ++i) {
      const std::string piece((i * 37 + round * 1009) % 9000, static_cast<char>('a' + (i + round) % 26));
      ASSERT_TRUE(files[i]->append(piece));
      expected[i] += piece;
    }
    // Some go, so that later ones are put where they were.
    for (std::size_t i = round; i < files.size(); i += 5) {
      const auto all = files[i]->map("end");
      ASSERT_TRUE(all) << all.error().message();
      ASSERT_TRUE(*all == expected[i] + "end") << i;
      files[i] = (*spool)->create();
      expected[i].clear();
    }
  }
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_TRUE(folder.empty()) << "no file has a name";
  files.clear();
  EXPECT_EQ((*spool)->used(), 0U);
}

// Sizes on both sides of where extents begin: 64 KiB, 192 KiB, 448 KiB.
RC_GTEST_PROP(SpoolProperty, BytesComeBackWhateverLiesBesideThem, ()) {
  const sink_test::ScratchFolder folder;
  const auto spool = *Spool::open(folder.path(), 0);
  std::map<int, std::pair<std::unique_ptr<SpillFile>, std::string>> files;
  std::uint64_t held = 0;
  for (const auto& [name, size] : *rc::gen::container<std::vector<std::pair<int, int>>>(
           rc::gen::pair(rc::gen::inRange(0, 4), rc::gen::element(0, 1, 4096, 65'535, 65'536, 70'000, 200'000)))) {
    auto& [file, expected] = files[name];
    if (file && size == 0) {
      const auto all = file->map("");
      RC_ASSERT(all.has_value());
      RC_ASSERT(*all == expected);
      held -= expected.size();
      file.reset();
      expected.clear();
      continue;
    }
    if (!file) file = spool->create();
    const std::string bytes(static_cast<std::size_t>(size), static_cast<char>('a' + held % 26));
    RC_ASSERT(file->append(bytes).has_value());
    expected += bytes;
    held += bytes.size();
    RC_ASSERT(spool->used() == held);
  }
  for (auto& [name, entry] : files) {
    if (!entry.first) continue;
    const auto all = entry.first->map("!");
    RC_ASSERT(all.has_value());
    RC_ASSERT(*all == entry.second + "!");
  }
}

std::uint64_t bytes_on_disk_of(const std::filesystem::path& nameless_in) {
  // The one descriptor of this process whose file lay in the folder and has no name.
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (!std::filesystem::read_symlink(entry.path(), gone).string().starts_with(nameless_in.string() + "/")) continue;
    struct stat status{};
    if (::stat(entry.path().c_str(), &status) == 0) return static_cast<std::uint64_t>(status.st_blocks) * 512;
  }
  return UINT64_MAX;
}

// Files of several sizes come and go; what stays of them is bounded (64 MiB), whatever lay where they lie now.
TEST(Spool, WhatIsGivenBackTakesABoundedPlaceOnDisk) {
  constexpr std::uint64_t kBound = std::uint64_t{64} << 20U;
  const sink_test::ScratchFolder folder;
  const auto spool = Spool::open(folder.path(), 0);
  ASSERT_TRUE(spool);
  const std::string mebibyte(std::size_t{1} << 20U, 'x');
  const auto write_together = [&](std::size_t count, std::size_t mebibytes) {
    std::vector<std::unique_ptr<SpillFile>> files;
    for (std::size_t i = 0; i < count; ++i) files.push_back((*spool)->create());
    for (const auto& file : files) {
      for (std::size_t i = 0; i < mebibytes; ++i) ASSERT_TRUE(file->append(mebibyte));
    }
  };
  write_together(4, 15);  // nearly all that may stay; their last extents lie untouched below
  for (int i = 0; i < 20; ++i) write_together(4, 1);
  write_together(16, 3);
  EXPECT_LE(bytes_on_disk_of(folder.path()), kBound + mebibyte.size());
  write_together(8, 15);
  EXPECT_LE(bytes_on_disk_of(folder.path()), kBound + mebibyte.size());
}

// Bytes that were written before the disk refused more are not part of the file, and the next go where they lie.
TEST(Spool, WhatTheDiskRefusesIsNotInTheFile) {
  const sink_test::ScratchFolder folder;
  const auto spool = Spool::open(folder.path(), 0);
  ASSERT_TRUE(spool);
  const auto file = (*spool)->create();
  const std::string before(100'000, 'a');
  ASSERT_TRUE(file->append(before));
  rlimit usual{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &usual), 0);
  const auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit tight{150'000, usual.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  const auto refused = file->append(std::string(200'000, 'b'));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &usual), 0);
  std::signal(SIGXFSZ, ignored);
  ASSERT_FALSE(refused);
  EXPECT_EQ((*spool)->used(), before.size());
  const std::string after(300'000, 'c');
  ASSERT_TRUE(file->append(after));
  const auto all = file->map("!");
  ASSERT_TRUE(all);
  EXPECT_TRUE(*all == before + after + "!");
}

// What the set says that its files hold is what they hold, whatever is done with them.
RC_GTEST_PROP(OpenFileSetProperty, INV7_TheSumIsThatOfItsFiles, ()) {
  OpenFileSet set;
  std::map<std::string, OpenFile*> model;
  std::vector<std::string> use;  // the one used last at the back
  for (const auto& [what, which] : *rc::gen::container<std::vector<std::pair<int, int>>>(
           rc::gen::pair(rc::gen::inRange(0, 8), rc::gen::inRange(0, 12)))) {
    const std::string route = "r" + std::to_string(which);
    OpenFile* const file = set.find(which % 3, route);
    RC_ASSERT((file != nullptr) == model.contains(route));
    if (what == 0 && file != nullptr) {
      RC_ASSERT(set.take(*file).get() == file);
      model.erase(route);
      std::erase(use, route);
    } else if (what == 1) {
      std::size_t sum = 0;
      for (const auto& [name, one] : model) sum += one->memory();
      RC_ASSERT(set.memory() == sum);
    } else if (file == nullptr) {
      auto fresh = std::make_unique<OpenFile>();
      fresh->chunk.series = {which % 3, route};
      model[route] = fresh.get();
      use.push_back(route);
      set.add(std::move(fresh));
    } else {
      set.use(*file);
      file->chunk.bytes.append(std::string(static_cast<std::size_t>(what) * 500, 'x'));
      std::erase(use, route);
      use.push_back(route);
    }
    RC_ASSERT(set.size() == model.size());
    RC_ASSERT(set.unused_longest() == (use.empty() ? nullptr : model[use.front()]));
  }
}

struct ManyFiles : ::testing::Test {
  static constexpr std::size_t kFiles = 10'000;
  millrace::testing::SealedShelf shelf;
  std::map<std::string, std::string> expected;

  /// Records of so many routes, each route's as often as the others', in an order that visits all of them.
  void write(LaneSink& sink, std::size_t rounds, const std::function<void()>& between) {
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < kFiles * rounds; ++i) {
      const std::string route = "tenant-" + std::to_string(i * 7919 % kFiles);
      const std::string record = route + ' ' + std::to_string(i) + std::string(i % 100, '.') + "\n";
      RecordMeta meta;
      meta.offset = Offset(offset++);
      sink.begin_record(meta, route).append(record);
      sink.end_record(meta, {});
      expected[route] += record;
      if (sink.seal_due()) sink.seal_due_files();
      if (i % 500 == 0) between();
    }
    sink.seal(SealReason::lane_end);
  }
  [[nodiscard]] std::map<std::string, std::string> written() {
    std::map<std::string, std::string> got;
    for (SealedBatch& batch : shelf.batches) {
      const auto body = batch.body();
      EXPECT_TRUE(body) << body.error().message();
      got[batch.chunk.series.route] += *body;
    }
    return got;
  }
};

TEST_F(ManyFiles, INV7_TenThousandOpenFilesStayWithinTheBudget) {
  const sink_test::ScratchFolder folder;
  const auto spool = Spool::open(folder.path(), 0);
  ASSERT_TRUE(spool);
  constexpr std::size_t kLimit = std::size_t{8} << 20U;
  const auto budget = std::make_shared<OpenBudget>(kLimit, *spool);
  const std::size_t descriptors = open_descriptors();
  std::size_t most = 0;
  std::size_t most_files = 0;
  {
    LaneSink sink({.lane = LaneId(1), .policy = {.max_bytes = 0, .max_open = kFiles, .routed = true}, .budget = budget},
                  shelf);
    write(sink, 30, [&] {
      std::ignore = sink.tick(SteadyTime());
      most = std::max(most, budget->used());
      most_files = std::max(most_files, sink.open_files());
      ASSERT_LE(open_descriptors(), descriptors);
    });
  }
  EXPECT_EQ(most_files, kFiles);
  EXPECT_LE(most, kLimit + kLimit / 10) << "what a run of the chain adds is given up behind it";
  EXPECT_EQ(shelf.batches.size(), kFiles) << "none was ended for want of room";
  EXPECT_TRUE(written() == expected);
  shelf.batches.clear();
  EXPECT_EQ((*spool)->used(), 0U);
}

TEST_F(ManyFiles, MoreRoutesThanMayBeOpenEndTheOneUnusedLongest) {
  LaneSink sink({.lane = LaneId(1), .policy = {.max_bytes = 0, .max_open = kFiles / 2, .routed = true}}, shelf);
  std::size_t most_files = 0;
  write(sink, 3, [&] { most_files = std::max(most_files, sink.open_files()); });
  EXPECT_LE(most_files, kFiles / 2 + 1);
  EXPECT_EQ(shelf.batches.front().chunk.series.route, "tenant-0") << "the first to be used is the first to go";
  EXPECT_TRUE(written() == expected);
}

}  // namespace
}  // namespace millrace
