// SPDX-License-Identifier: Apache-2.0
// The JSON rows of docs/PERFORMANCE.md: check plus json_lines wrapper, through the compiled chain into a sink
// that seals, against simdjson's DOM parse of the same documents. Beside it the check alone, typed records against
// On-Demand over the same fields, and what a line costs in a chain that does nothing.
#include <simdjson.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/ndjson_lines.h"
#include "bench/ratio.h"
#include "millrace/decode/json.h"
#include "millrace/decode/raw.h"
#include "millrace/encode/encode.h"
#include "millrace/pipeline/compile.h"

namespace millrace::bench {
namespace {

struct Reading {
  std::uint64_t n = 0;
  std::string_view id;
  std::int64_t at = 0;
  bool ok = false;
  double value = 0;
  std::string_view note;
};
MILLRACE_JSON_FIELDS(Reading, n, id, at, ok, value, note);

constexpr std::size_t kTotal = 4U << 20U;
constexpr std::size_t kBatch = 4096;

// Lines in one string with room behind it, as a lane lends them.
struct Lines {
  std::string bytes;
  std::vector<std::string_view> views;

  explicit Lines(std::string text) : bytes(std::move(text)) {
    const std::size_t size = bytes.size();
    bytes.resize(size + kBytePadding);
    for (std::size_t at = 0; at < size;) {
      const std::size_t end = bytes.find('\n', at);
      views.emplace_back(bytes.data() + at, end - at);
      at = end + 1;
    }
  }
  [[nodiscard]] std::uint64_t size() const { return bytes.size() - kBytePadding; }
};

// The words of ndjson_lines with escapes between them, as people's text has them.
std::string escaped(std::string text) {
  std::string out;
  for (const char c : text) {
    if (c == ' ' && out.size() % 3 == 0) {
      constexpr std::array<const char*, 4> kEscapes{R"( \"go\" )", R"(\n)", R"( C:\\in )", R"( \u00fc )"};
      out += kEscapes[out.size() % kEscapes.size()];
    } else {
      out += c;
    }
  }
  return out;
}

// Written at once: keeps the buffer for the next chunk.
class NullQueue final : public SealedBatchQueue {
 public:
  bool try_push(SealedBatch& batch) override {
    batch.chunk.acks.deliver();
    spare_ = std::move(batch.chunk.bytes);
    spare_.clear();
    return true;
  }
  ByteBuffer take_buffer() override { return std::exchange(spare_, ByteBuffer()); }

 private:
  ByteBuffer spare_;
};

// A lane with a chain, its sink, and no acks.
struct Lane {
  NullQueue queue;
  LaneOutputs outputs;
  std::shared_ptr<Origin> origin = std::make_shared<Origin>();
  std::unique_ptr<LaneChain> chain;
  AckIssuer issuer;
  AckRef ack;

  template <class Plan>
  explicit Lane(Plan plan) {
    outputs.add("sink", std::make_unique<LaneSink>(LaneSink::Options{.lane = LaneId(0),
                                                                     .partition = PartitionId(0),
                                                                     .policy = {.max_bytes = 1U << 20U},
                                                                     .envelope = {},
                                                                     .first_sequence = 0},
                                                   queue));
    origin->stream = "bench";
    origin->topic = "readings";
    ChainContext context;
    context.outputs = &outputs;
    chain = compile(std::move(plan), context).value();
  }
};

template <class Plan>
Pass chain_pass(const Lines& lines, Plan plan) {
  return [&lines, lane = std::make_shared<Lane>(std::move(plan))] {
    ChainCounts counts;
    for (std::size_t at = 0; at < lines.views.size(); at += kBatch) {
      PayloadBatch batch;
      batch.payloads = std::span(lines.views).subspan(at, std::min(kBatch, lines.views.size() - at));
      batch.base_offset = Offset(static_cast<std::int64_t>(at));
      batch.timestamp = 1'782'907'200'000'000;
      batch.origin = lane->origin;
      batch.readable_padding = kBytePadding;
      const ChainStep step = lane->chain->run(batch, 0, lane->ack, lane->issuer, counts);
      if (step.error || step.next != batch.payloads.size()) std::abort();
    }
    keep(counts.records_out);
    return lines.size();
  };
}

Pass dom_pass(const Lines& lines) {
  return [&lines, parser = std::make_shared<simdjson::dom::parser>()] {
    for (const std::string_view line : lines.views) {
      simdjson::dom::element element;
      if (parser->parse(line.data(), line.size(), false).get(element) != simdjson::SUCCESS) std::abort();
      keep(element);
    }
    return lines.size();
  };
}

// Field by field in the order in which they come: what On-Demand is best at.
Pass on_demand_pass(const Lines& lines) {
  return [&lines, parser = std::make_shared<simdjson::ondemand::parser>()] {
    for (const std::string_view line : lines.views) {
      simdjson::ondemand::document document;
      Reading reading;
      const bool good = !parser->iterate(line.data(), line.size(), line.size() + kBytePadding).get(document) &&
                        !document["n"].get(reading.n) && !document["id"].get(reading.id) &&
                        !document["at"].get(reading.at) && !document["ok"].get(reading.ok) &&
                        !document["value"].get(reading.value) && !document["note"].get(reading.note);
      if (!good) std::abort();
      keep(reading);
    }
    return lines.size();
  };
}

Pass check_pass(const Lines& lines) {
  return [&lines, checker = std::make_shared<JsonChecker>()] {
    decode::Json json;
    for (const std::string_view line : lines.views) {
      if (!checker->check(line, kBytePadding, json)) std::abort();
      keep(json);
    }
    return lines.size();
  };
}

void print_cost(std::string_view what, const Lines& lines, const Pass& pass, double at_most) {
  double best = 1e9;
  for (int round = 0; round < 21; ++round) {
    timespec begin{};
    timespec end{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    pass();
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    const double ns =
        static_cast<double>(end.tv_sec - begin.tv_sec) * 1e9 + static_cast<double>(end.tv_nsec - begin.tv_nsec);
    best = std::min(best, ns / static_cast<double>(lines.views.size()));
  }
  fmt::print("{:<44} {:.1f} ns a line (at most {:.0f}, framing and sink included elsewhere)\n", what, best, at_most);
}

int run(int argc, char** argv) {
  Ratios ratios(argc, argv);
  const auto json_rows = [&](std::string_view name, const Lines& lines) {
    const Side dom{"dom", dom_pass(lines)};
    ratios.compare(fmt::format("{}: check + wrapper / DOM parse", name), dom,
                   {"chain", chain_pass(lines, decode::json() | encode::json_lines({.wrap = true}))}, 0.60);
    ratios.compare(fmt::format("{}: check alone / DOM parse", name), dom, {"check", check_pass(lines)}, 0.60);
    ratios.compare(fmt::format("{}: typed to discard / On-Demand fields", name), {"ondemand", on_demand_pass(lines)},
                   {"chain", chain_pass(lines, decode::json<Reading>() | encode::discard())}, 0.60);
    ratios.compare(fmt::format("{}: typed to json_lines / DOM parse", name), dom,
                   {"chain", chain_pass(lines, decode::json<Reading>() | encode::json_lines())}, 0.60);
  };
  const Lines short_lines(ndjson_lines(kTotal, 200));
  const Lines long_lines(ndjson_lines(kTotal, 1024));
  const Lines escaped_lines(escaped(ndjson_lines(kTotal, 400)));
  json_rows("200 B", short_lines);
  json_rows("1 KiB", long_lines);
  json_rows("500 B, escapes", escaped_lines);
  print_cost("200 B: raw to discard", short_lines, chain_pass(short_lines, decode::raw() | encode::discard()), 15);
  print_cost("200 B: raw to raw (with its copy)", short_lines, chain_pass(short_lines, decode::raw() | encode::raw()),
             30);
  return ratios.exit_code();
}

}  // namespace
}  // namespace millrace::bench

int main(int argc, char** argv) { return millrace::bench::run(argc, argv); }
