// SPDX-License-Identifier: Apache-2.0
// A file:// backfill through the whole pipeline, one lane on one thread. Plain objects
// against read(2) of the same files with 512 KiB buffers, written to /dev/null as cat does, plus a memchr pass over
// each buffer; gzip and zstd objects against the codec's library, streaming the same files from read(2) into one buffer
// that is dropped. By CPU time of the process, all threads (ratio.h).
//   source_bench [--rounds N] [--seconds S] [--mib SIZE] [--lanes N]
#include <fcntl.h>
#include <isa-l.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zstd.h>

#include <cstring>
#include <memory>
#include <string>

#include "bench/file_backfill.h"
#include "bench/ratio.h"

namespace millrace::bench {
namespace {

constexpr std::size_t kRead = 512U << 10U;
constexpr std::size_t kWindow = 256U << 10U;

/// Calls `take` with what each read(2) of each file brings, and `end` behind each file.
template <class Take, class End>
void read_files(const Files& files, Take&& take, End&& end) {
  static std::string buffer(kRead, '\0');
  for (const std::string& name : files.names()) {
    const int file = ::open(name.c_str(), O_RDONLY);
    for (;;) {
      const ssize_t size = ::read(file, buffer.data(), buffer.size());
      if (size <= 0) break;
      take(buffer.data(), static_cast<std::size_t>(size));
    }
    ::close(file);
    end();
  }
}

std::uint64_t cat_and_memchr(const Files& files) {
  static const int null = ::open("/dev/null", O_WRONLY);
  std::uint64_t bytes = 0;
  std::uint64_t lines = 0;
  const auto take = [&](const char* at, std::size_t size) {
    if (::write(null, at, size) != static_cast<ssize_t>(size)) std::exit(2);
    bytes += size;
    const char* const end = at + size;
    while (const void* found = std::memchr(at, '\n', static_cast<std::size_t>(end - at))) {
      ++lines;
      at = static_cast<const char*>(found) + 1;
    }
  };
  read_files(files, take, [] {});
  keep(lines);
  return bytes;
}

std::uint64_t igzip(const Files& files) {
  static inflate_state state;
  static std::string out(kWindow, '\0');
  std::uint64_t produced = 0;
  const auto begin = [] {
    isal_inflate_init(&state);
    state.crc_flag = ISAL_GZIP;
  };
  const auto take = [&](char* at, std::size_t size) {
    state.next_in = reinterpret_cast<std::uint8_t*>(at);
    state.avail_in = static_cast<std::uint32_t>(size);
    do {
      state.next_out = reinterpret_cast<std::uint8_t*>(out.data());
      state.avail_out = static_cast<std::uint32_t>(out.size());
      if (isal_inflate(&state) < 0) std::exit(2);
      produced += out.size() - state.avail_out;
    } while (state.avail_out == 0 && state.block_state != ISAL_BLOCK_FINISH);
  };
  begin();
  read_files(files, take, begin);
  return produced;
}

std::uint64_t libzstd(const Files& files) {
  static const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(), ZSTD_freeDCtx);
  static std::string out(kWindow, '\0');
  std::uint64_t produced = 0;
  const auto take = [&](char* at, std::size_t size) {
    ZSTD_inBuffer in{at, size, 0};
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    do {
      to.pos = 0;
      if (ZSTD_isError(ZSTD_decompressStream(context.get(), &to, &in)) != 0) std::exit(2);
      produced += to.pos;
    } while (in.pos != in.size || to.pos == to.size);
  };
  read_files(files, take, [] { ZSTD_DCtx_reset(context.get(), ZSTD_reset_session_only); });
  return produced;
}

void run(Ratios& ratios, std::uint64_t mib, std::uint64_t lanes) {
  for (const std::size_t line : {200U, 1024U}) {
    const auto compare = [&](const char* what, Codec codec, const char* baseline, auto pass, double at_least) {
      const Files files(mib << 20U, line, codec);
      ratios.compare(fmt::format("{} file:// backfill, {} B lines", what, line),
                     {baseline, [&] { return pass(files); }}, {"millrace", [&] { return backfill(files, lanes); }},
                     at_least);
    };
    compare("plain", Codec::none, "cat and memchr", cat_and_memchr, 0.80);
    compare("gzip", Codec::gzip, "igzip", igzip, 0.90);
    compare("zstd", Codec::zstd, "libzstd", libzstd, 0.90);
  }
}

}  // namespace
}  // namespace millrace::bench

int main(int argc, char** argv) {
  using namespace millrace::bench;
  std::uint64_t mib = 256;
  std::uint64_t lanes = 1;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--mib") == 0) mib = std::strtoull(argv[i + 1], nullptr, 10);
    if (std::strcmp(argv[i], "--lanes") == 0) lanes = std::strtoull(argv[i + 1], nullptr, 10);
  }
  Ratios ratios(argc, argv);
  run(ratios, mib, lanes);
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  fmt::print("peak RSS of this process: {} MiB\n", usage.ru_maxrss / 1024);
  return ratios.exit_code();
}
