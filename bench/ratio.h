// SPDX-License-Identifier: Apache-2.0
// Ratios: two ways over the same bytes, measured alternating in one run, in bytes per CPU second of this process.
// Absolute figures on a shared machine are noise; ratios are the product. One thread.
#pragma once

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/base/borrow.h"

namespace millrace::bench {

/// One way over the bytes; returns how many it went over. Called again and again.
using Pass = std::function<std::uint64_t()>;

struct Side {
  std::string name;
  Pass pass;
};

/// Ends the program (exit 2) when this build measures nothing: a sanitizer, no optimisation, checks of the library.
inline void refuse_unfit_build() {
  const char* why = nullptr;
#if defined(MILLRACE_ASAN) || defined(__SANITIZE_THREAD__)
  why = "a sanitizer is built in";
#elif !defined(__OPTIMIZE__)
  why = "it is not optimised";
#elif !defined(NDEBUG)
  why = "assertions are on";
#endif
  if (why == nullptr) return;
  fmt::print(stderr, "benchmarks are not timed in this build: {}; use the bench preset (./dev bench)\n", why);
  std::exit(2);
}

/// Keeps `value` from being optimised away.
template <class T>
inline void keep(const T& value) {
  asm volatile("" : : "r,m"(value) : "memory");
}

class Ratios {
 public:
  /// `--rounds N` (at least and by default 7) and `--seconds S` of CPU per side and round (0.2) come from the command
  /// line.
  Ratios(int argc, char** argv) {
    refuse_unfit_build();
    for (int i = 1; i + 1 < argc; i += 2) {
      if (std::strcmp(argv[i], "--rounds") == 0) rounds_ = std::max(5, std::atoi(argv[i + 1]));
      if (std::strcmp(argv[i], "--seconds") == 0) seconds_ = std::max(0.01, std::atof(argv[i + 1]));
    }
    fmt::print("{:<44} {:>26} {:>26}   {:<22} {}\n", "", "baseline MB/s", "millrace MB/s", "ratio min/median/max",
               "at least");
  }

  /// Measures and prints one line. `at_least` is what is asked of the median (docs/PERFORMANCE.md, To reach).
  void compare(std::string_view what, const Side& baseline, const Side& ours, double at_least) {
    std::vector<double> base_rates;
    std::vector<double> our_rates;
    std::vector<double> ratios;
    rate(baseline.pass, seconds_ / 4);  // warms caches and buffers
    rate(ours.pass, seconds_ / 4);
    for (int round = 0; round < rounds_; ++round) {
      const bool ours_first = round % 2 != 0;
      const double first = rate(ours_first ? ours.pass : baseline.pass, seconds_);
      const double second = rate(ours_first ? baseline.pass : ours.pass, seconds_);
      our_rates.push_back(ours_first ? first : second);
      base_rates.push_back(ours_first ? second : first);
      ratios.push_back(our_rates.back() / base_rates.back());
    }
    const double median = at(ratios, 0.5);
    const bool met = median >= at_least;
    all_met_ = all_met_ && met;
    fmt::print("{:<44} {:>26} {:>26}   {:<22} {:.2f} {}\n", what, spread(base_rates, 0), spread(our_rates, 0),
               spread(ratios, 3), at_least, met ? "met" : "SHORT");
    std::fflush(stdout);
  }

  /// Exit code: 0 when every line met its figure, 1 otherwise.
  [[nodiscard]] int exit_code() const { return all_met_ ? 0 : 1; }

 private:
  static double cpu_seconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
  }

  static double rate(const Pass& pass, double seconds) {
    const double start = cpu_seconds();
    std::uint64_t bytes = 0;
    double elapsed = 0;
    do {
      bytes += pass();
      elapsed = cpu_seconds() - start;
    } while (elapsed < seconds);
    return static_cast<double>(bytes) / elapsed / 1e6;
  }

  static double at(std::vector<double> values, double part) {
    std::sort(values.begin(), values.end());
    return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1) + 0.5)];
  }
  static std::string spread(const std::vector<double>& values, int digits) {
    return fmt::format("{:.{}f}/{:.{}f}/{:.{}f}", at(values, 0), digits, at(values, 0.5), digits, at(values, 1),
                       digits);
  }

  int rounds_ = 7;
  double seconds_ = 0.2;
  bool all_met_ = true;
};

}  // namespace millrace::bench
