// SPDX-License-Identifier: Apache-2.0
// Ranged reads through the S3 store against the curl program doing the same ranged GETs with as many in flight, from
// the same server on loopback (a process of its own). curl signs nothing and writes to /dev/null; the store signs,
// checks, and puts the bytes where the reader wants them. In bytes per second and in bytes per CPU second (of this
// process, and of curl's). For comparison only: bare libcurl that drops the bytes in its callback, which nobody can do
// who wants them.
//   s3_read_bench [--rounds N] [--mib SIZE] [--read-kib SIZE] [--reads N]
#include <curl/curl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "bench/ratio.h"
#include "millrace/base/sync.h"
#include "store/s3/s3_store.h"
#include "tests/s3_fault_server/fault_server.h"

namespace millrace::bench {
namespace {

struct Plan {
  int rounds = 7;
  std::uint64_t object_bytes = 512U << 20U;
  std::size_t read_bytes = 2U << 20U;
  std::size_t reads = 8;
};

// The server in a child, so that its CPU time is not ours. Ends when the pipe to it closes.
class ServerProcess {
 public:
  explicit ServerProcess(std::uint64_t object_bytes) {
    int to_child[2];
    int from_child[2];
    if (::pipe(to_child) != 0 || ::pipe(from_child) != 0) std::exit(2);
    child_ = ::fork();
    if (child_ == 0) {
      ::close(to_child[1]);
      ::close(from_child[0]);
      serve(object_bytes, to_child[0], from_child[1]);
    }
    ::close(to_child[0]);
    ::close(from_child[1]);
    stop_ = to_child[1];
    char line[64] = {};
    if (::read(from_child[0], line, sizeof line - 1) <= 0) std::exit(2);
    ::close(from_child[0]);
    endpoint_ = line;
  }
  ~ServerProcess() {
    ::close(stop_);
    ::waitpid(child_, nullptr, 0);
  }
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;
  [[nodiscard]] const std::string& endpoint() const { return endpoint_; }

 private:
  [[noreturn]] static void serve(std::uint64_t object_bytes, int stop, int out) {
    auto server = testing::FaultServer::start({.check_signatures = false});
    std::string bytes(object_bytes, 'x');
    for (std::size_t i = 0; i < bytes.size(); i += 200) bytes[i] = '\n';
    testing::StoredObject object;
    object.etag = "\"bench\"";
    (*server)->put_object("bucket", "k", std::move(bytes), std::move(object));
    const std::string endpoint = (*server)->endpoint();
    if (::write(out, endpoint.data(), endpoint.size()) < 0) std::_Exit(2);
    char byte = 0;
    while (::read(stop, &byte, 1) > 0) {
    }
    std::_Exit(0);
  }
  pid_t child_ = 0;
  int stop_ = -1;
  std::string endpoint_;
};

std::size_t drop(char* /*bytes*/, std::size_t size, std::size_t count, void* total) {
  *static_cast<std::uint64_t*>(total) += size * count;
  return size * count;
}

// What a program over libcurl does: `reads` handles in one multi, each given the next range when it is done.
class BareCurl {
 public:
  BareCurl(const Plan& plan, const std::string& endpoint) : plan_(plan), multi_(curl_multi_init()) {
    const std::string url = endpoint + "/bucket/k";
    for (std::size_t i = 0; i < plan.reads; ++i) {
      CURL* easy = curl_easy_init();
      curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
      curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
      curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, 512L << 10);
      curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, drop);
      curl_easy_setopt(easy, CURLOPT_WRITEDATA, &total_);
      handles_.push_back(easy);
    }
  }
  ~BareCurl() {
    for (CURL* easy : handles_) curl_easy_cleanup(easy);
    curl_multi_cleanup(multi_);
  }
  BareCurl(const BareCurl&) = delete;
  BareCurl& operator=(const BareCurl&) = delete;

  std::uint64_t pass() {
    total_ = 0;
    std::uint64_t next = 0;
    std::size_t open = 0;
    for (CURL* easy : handles_) open += start(easy, next) ? 1 : 0;
    while (open > 0) {
      int running = 0;
      curl_multi_perform(multi_, &running);
      int left = 0;
      while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
        CURL* easy = message->easy_handle;
        curl_multi_remove_handle(multi_, easy);
        if (!start(easy, next)) --open;
      }
      if (open > 0) curl_multi_poll(multi_, nullptr, 0, 1000, nullptr);
    }
    return total_;
  }

 private:
  bool start(CURL* easy, std::uint64_t& next) {
    if (next >= plan_.object_bytes) return false;
    const std::uint64_t last = std::min(next + plan_.read_bytes, plan_.object_bytes) - 1;
    curl_easy_setopt(easy, CURLOPT_RANGE, fmt::format("{}-{}", next, last).c_str());
    next = last + 1;
    curl_multi_add_handle(multi_, easy);
    return true;
  }
  const Plan plan_;
  CURLM* multi_;
  std::vector<CURL*> handles_;
  std::uint64_t total_ = 0;
};

class ThroughStore {
 public:
  ThroughStore(const Plan& plan, const std::string& endpoint) : plan_(plan) {
    s3::S3Options options;
    options.bucket = "bucket";
    options.endpoint = endpoint;
    options.keys = s3::Credentials{"AK", "SK", "", INT64_MAX, "bench"};
    store_ = *s3::make_store(options, {});
    for (std::size_t i = 0; i < plan.reads; ++i) buffers_.push_back(std::make_unique<char[]>(plan.read_bytes));
  }

  std::uint64_t pass() {
    const MutexLock lock(mutex_);
    next_ = 0;
    total_ = 0;
    open_ = 0;
    for (std::size_t i = 0; i < plan_.reads; ++i) start(i);
    while (open_ > 0) changed_.wait(mutex_);
    return total_;
  }

 private:
  void start(std::size_t slot) MILLRACE_REQUIRES(mutex_) {
    if (next_ >= plan_.object_bytes) return;
    ReadRequest request;
    request.key = "k";
    request.offset = next_;
    request.destination = {buffers_[slot].get(), static_cast<std::size_t>(std::min<std::uint64_t>(
                                                     plan_.read_bytes, plan_.object_bytes - next_))};
    request.if_match = ETag{"\"bench\""};
    request.expected_object_size = plan_.object_bytes;
    next_ += request.destination.size();
    ++open_;
    request.done = [this, slot](const ReadOutcome& outcome) {
      const MutexLock lock(mutex_);
      --open_;
      total_ += outcome.received;
      if (!outcome.info) {
        fmt::print(stderr, "{}\n", outcome.info.error().describe());
        std::exit(2);
      }
      start(slot);
      if (open_ == 0) changed_.notify_all();
    };
    store_->start_read(std::move(request));
  }
  const Plan plan_;
  std::shared_ptr<ObjectStore> store_;
  std::vector<std::unique_ptr<char[]>> buffers_;
  Mutex mutex_;
  CondVar changed_;
  std::uint64_t next_ MILLRACE_GUARDED_BY(mutex_) = 0;
  std::uint64_t total_ MILLRACE_GUARDED_BY(mutex_) = 0;
  std::size_t open_ MILLRACE_GUARDED_BY(mutex_) = 0;
};

// `curl --parallel` over a config file that names every range.
class CurlProgram {
 public:
  CurlProgram(const Plan& plan, const std::string& endpoint) : plan_(plan) {
    char name[] = "/tmp/s3_read_bench-XXXXXX";
    const int file = ::mkstemp(name);
    if (file < 0) std::exit(2);
    ::close(file);
    config_ = name;
    std::ofstream config(config_);
    for (std::uint64_t first = 0; first < plan.object_bytes; first += plan.read_bytes) {
      const std::uint64_t last = std::min(first + plan.read_bytes, plan.object_bytes) - 1;
      config << fmt::format(
          "{}url = \"{}/bucket/k\"\nrange = \"{}-{}\"\noutput = \"/dev/null\"\nfail\nnoproxy = \"*\"\n",
          first == 0 ? "" : "next\n", endpoint, first, last);
    }
  }
  ~CurlProgram() { ::unlink(config_.c_str()); }
  CurlProgram(const CurlProgram&) = delete;
  CurlProgram& operator=(const CurlProgram&) = delete;

  std::uint64_t pass() {
    const std::string parallel = fmt::format("{}", plan_.reads);
    const pid_t child = ::fork();
    if (child == 0) {
      ::execlp("curl", "curl", "--no-progress-meter", "--parallel", "--parallel-immediate", "--parallel-max",
               parallel.c_str(), "--config", config_.c_str(), nullptr);
      std::_Exit(127);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return status == 0 ? plan_.object_bytes : 0;
  }

 private:
  const Plan plan_;
  std::string config_;
};

struct Rate {
  double wall = 0;  // MiB/s
  double cpu = 0;   // MiB per CPU second
};

// Of this process, its threads, and the children it has waited for.
double cpu_seconds() {
  double total = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    ::getrusage(who, &usage);
    for (const timeval& part : {usage.ru_utime, usage.ru_stime}) {
      total += static_cast<double>(part.tv_sec) + static_cast<double>(part.tv_usec) * 1e-6;
    }
  }
  return total;
}

double wall_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

template <class Way>
Rate measure(Way& way, std::uint64_t expected) {
  const double wall = wall_seconds();
  const double cpu = cpu_seconds();
  const std::uint64_t bytes = way.pass();
  if (bytes != expected) {
    fmt::print(stderr, "{} bytes came instead of {}; is the curl program there?\n", bytes, expected);
    std::exit(2);
  }
  const double mib = static_cast<double>(bytes) / (1024.0 * 1024.0);
  return {mib / (wall_seconds() - wall), mib / (cpu_seconds() - cpu)};
}

struct Rates {
  std::vector<double> wall;
  std::vector<double> cpu;
  void add(Rate rate) {
    wall.push_back(rate.wall);
    cpu.push_back(rate.cpu);
  }
};

bool report(std::string_view what, std::vector<double> base, std::vector<double> ours, double at_least) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < base.size(); ++i) ratios.push_back(ours[i] / base[i]);
  for (auto* values : {&base, &ours, &ratios}) std::ranges::sort(*values);
  const double median = ratios[ratios.size() / 2];
  const std::string_view verdict = at_least == 0 ? "" : median >= at_least ? "met" : "SHORT";
  fmt::print("{:<44} {:>6.0f} {:>6.0f}   {:.3f}/{:.3f}/{:.3f}   {:.2f} {}\n", what, base[base.size() / 2],
             ours[ours.size() / 2], ratios.front(), median, ratios.back(), at_least, verdict);
  return median >= at_least;
}

int run(const Plan& plan) {
  const ServerProcess server(plan.object_bytes);
  curl_global_init(CURL_GLOBAL_DEFAULT);
  CurlProgram program(plan, server.endpoint());
  BareCurl bare(plan, server.endpoint());
  ThroughStore store(plan, server.endpoint());
  (void)measure(bare, plan.object_bytes);
  (void)measure(store, plan.object_bytes);
  Rates of_program;
  Rates of_bare;
  Rates of_store;
  for (int round = 0; round < plan.rounds; ++round) {
    if (round % 2 == 0) of_program.add(measure(program, plan.object_bytes));
    of_store.add(measure(store, plan.object_bytes));
    if (round % 2 != 0) of_program.add(measure(program, plan.object_bytes));
    of_bare.add(measure(bare, plan.object_bytes));
  }
  fmt::print("{} MiB in reads of {} KiB, {} in flight, {} rounds\n{:<44} {:>6} {:>6}   {}   {}\n",
             plan.object_bytes >> 20U, plan.read_bytes >> 10U, plan.reads, plan.rounds, "", "base", "store",
             "ratio min/median/max", "at least");
  const bool fast = report("S3 reads, MiB/s, curl program", of_program.wall, of_store.wall, 0.9);
  const bool frugal = report("S3 reads, MiB per CPU second, curl program", of_program.cpu, of_store.cpu, 0.9);
  (void)report("S3 reads, MiB/s, libcurl dropping", of_bare.wall, of_store.wall, 0);
  (void)report("S3 reads, MiB per CPU second, libcurl dropping", of_bare.cpu, of_store.cpu, 0);
  return fast && frugal ? 0 : 1;
}

}  // namespace
}  // namespace millrace::bench

int main(int argc, char** argv) {
  millrace::bench::refuse_unfit_build();
  millrace::bench::Plan plan;
  for (int i = 1; i + 1 < argc; i += 2) {
    const long value = std::max(1L, std::atol(argv[i + 1]));
    if (std::strcmp(argv[i], "--rounds") == 0) plan.rounds = static_cast<int>(std::max(5L, value));
    if (std::strcmp(argv[i], "--mib") == 0) plan.object_bytes = static_cast<std::uint64_t>(value) << 20U;
    if (std::strcmp(argv[i], "--read-kib") == 0) plan.read_bytes = static_cast<std::size_t>(value) << 10U;
    if (std::strcmp(argv[i], "--reads") == 0) plan.reads = static_cast<std::size_t>(value);
  }
  return millrace::bench::run(plan);
}
