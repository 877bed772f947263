// SPDX-License-Identifier: Apache-2.0
// Two lanes on two cores against one lane on one core, both relative to what two independent
// processes reach on the same two cores at the same time. By the clock on the wall, since that is what a second core is
// for; each run is a process of its own, and its files are in the page cache.
//   scaling_bench [--rounds N] [--mib SIZE]     SIZE of what is compressed; plain files are four times that
#include <fmt/format.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "bench/file_backfill.h"
#include "bench/ratio.h"

namespace millrace::bench {
namespace {

/// Cores that this process may use; the first two of them are measured on.
std::vector<int> cores() {
  cpu_set_t allowed;
  std::vector<int> found;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return found;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &allowed)) found.push_back(core);
  }
  return found;
}

struct Run {
  const Files* files;
  std::uint64_t lanes;
  std::vector<int> cores;
};

pid_t start(const Run& run, std::size_t number) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  cpu_set_t mine;
  CPU_ZERO(&mine);
  for (const int core : run.cores) CPU_SET(core, &mine);
  if (::sched_setaffinity(0, sizeof mine, &mine) != 0) std::_Exit(2);
  backfill(*run.files, run.lanes, fmt::format("progress-{}.json", number));
  std::_Exit(0);
}

/// Decoded MB per second of all of them together.
double rate(const std::vector<Run>& runs) {
  const auto begin = std::chrono::steady_clock::now();
  std::vector<pid_t> children;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    children.push_back(start(runs[i], i));
    bytes += runs[i].files->bytes();
  }
  for (const pid_t child : children) {
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) != child || status != 0) {
      fmt::print(stderr, "scaling_bench: a run failed\n");
      std::exit(2);
    }
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  return static_cast<double>(bytes) / took.count() / 1e6;
}

std::string spread(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return fmt::format("{:.2f}/{:.2f}/{:.2f}", values.front(), values[values.size() / 2], values.back());
}

bool measure(const char* what, Codec codec, const std::vector<int>& cores, std::uint64_t mib, int rounds) {
  const Files files(mib << 20U, 200, codec);
  const int first = cores[0];
  const int second = cores[1];
  const std::vector<Run> one{{&files, 1, {first}}};
  const std::vector<Run> two{{&files, 2, {first, second}}};
  const std::vector<Run> apart{{&files, 1, {first}}, {&files, 1, {second}}};
  rate(two);  // warms the page cache
  std::vector<double> lanes;
  std::vector<double> processes;
  std::vector<double> relative;
  for (int round = 0; round < rounds; ++round) {
    const double alone = rate(one);
    const double together = rate(two);
    const double independent = rate(apart);
    lanes.push_back(together / alone);
    processes.push_back(independent / alone);
    relative.push_back(2 * together / independent);
  }
  std::vector<double> sorted = relative;
  std::sort(sorted.begin(), sorted.end());
  const bool met = sorted[sorted.size() / 2] >= 1.8;
  fmt::print("{:<8} {:>22} {:>26} {:>26}   1.80 {}\n", what, spread(lanes), spread(processes), spread(relative),
             met ? "met" : "SHORT");
  std::fflush(stdout);
  return met;
}

}  // namespace
}  // namespace millrace::bench

int main(int argc, char** argv) {
  using namespace millrace::bench;
  refuse_unfit_build();
  std::uint64_t mib = 512;
  int rounds = 7;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--mib") == 0) mib = std::strtoull(argv[i + 1], nullptr, 10);
    if (std::strcmp(argv[i], "--rounds") == 0) rounds = std::max(3, std::atoi(argv[i + 1]));
  }
  const std::vector<int> found = cores();
  if (found.size() < 2) {
    fmt::print(stderr, "scaling_bench: it takes two cores, and there is one\n");
    return 2;
  }
  fmt::print("{:<8} {:>22} {:>26} {:>26}   at least\n", "", "two lanes / one lane", "two processes / one",
             "2 x lanes / processes");
  bool met = true;
  // Plain files pass at several GB/s: with as few of them as of the others, starting, the listing and the fsyncs of the
  // manifest (50 to 90 ms, which no lane divides) would be half of the run.
  met = measure("plain", millrace::Codec::none, found, 4 * mib, rounds) && met;
  met = measure("gzip", millrace::Codec::gzip, found, mib, rounds) && met;
  met = measure("zstd", millrace::Codec::zstd, found, mib, rounds) && met;
  return met ? 0 : 1;
}
