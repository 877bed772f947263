// SPDX-License-Identifier: Apache-2.0
// Goal: whole objects, byte for byte as the hand-written files in outputs/ have them, for each format with and without
// metadata and headers, through the whole engine.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "connectors/s3/sink.h"
#include "millrace/pipeline/config_chain.h"
#include "millrace/pipeline/pipeline.h"
#include "millrace/testing/memory_store.h"
#include "sink_run.h"

namespace millrace::testing {
namespace {

struct Row {
  std::string payload;
  UnixMicros time = kNoTimestamp;
  std::vector<Header> headers{};
};
struct Table {
  std::string name;  ///< the topic, and how the files begin
  PartitionId partition;
  Offset first;
  std::vector<Row> rows;
};

const Table& orders() {
  static const Table table{
      "orders",
      PartitionId(3),
      Offset(100),
      {{R"({"id":1,"item":"Käse"})", 1'773'669'909'000'000, {{"trace", "t-1"}}},
       {R"({"id":2, "price":12.50})", 1'773'669'909'250'000},
       {R"({"id":3,"tags":["a","b"]})", 1'773'669'910'999'999, {{"trace", "t-3"}, {"attempt", "2"}}}}};
  return table;
}

const Table& odd() {
  static const Table table{"odd",
                           PartitionId(0),
                           Offset(0),
                           {{"plain \"text\"", -1},
                            {"", kNoTimestamp},
                            {"{\"a\":1,\n \"a\":1.0e2}", 0},
                            {std::string("\x00\xFF\x10", 3),
                             253'402'300'799'999'999,  // the last microsecond of the year 9999
                             {{"raw", std::string_view("\xFF\x00", 2)}, {"", ""}, {"q", "say \"hi\""}}},
                            {"12345678901234567890.123", 1'709'164'800'000'000}}};  // 2024-02-29
  return table;
}

/// One lane that yields a table as one batch.
class TableLane final : public SourceLane {
 public:
  TableLane(const Table& table, AckIssuer acks) : table_(table), acks_(std::move(acks)) {
    auto origin = std::make_shared<Origin>();
    origin->stream = "shop";
    origin->topic = table.name;
    origin_ = std::move(origin);
    for (const Row& row : table.rows) {
      payloads_.emplace_back(row.payload);
      times_.push_back(row.time);
      headers_.emplace_back(row.headers);
    }
  }
  LaneId id() const override { return LaneId(0); }
  PartitionId partition() const override { return table_.partition; }
  Result<PollResult> poll(std::size_t /*max_records*/, Duration /*timeout*/) override {
    if (std::exchange(done_, true)) return Exhausted{};
    PayloadBatch batch;
    batch.payloads = payloads_;
    batch.partition = table_.partition;
    batch.base_offset = table_.first;
    batch.timestamps = times_;
    batch.headers = headers_;
    batch.origin = origin_;
    batch.ack =
        acks_.issue(table_.partition, Offset(table_.first.value() + static_cast<std::int64_t>(table_.rows.size()) - 1));
    return batch;
  }

 private:
  const Table& table_;
  AckIssuer acks_;
  bool done_ = false;
  std::shared_ptr<const Origin> origin_;
  std::vector<std::string_view> payloads_;
  std::vector<UnixMicros> times_;
  std::vector<std::span<const Header>> headers_;
};

class TableSource final : public Source {
 public:
  explicit TableSource(const Table& table) : table_(table) {}
  Result<void> open(SourceContext context) override {
    context_ = std::move(context);
    return {};
  }
  Result<SourceEvent> poll_events(Duration /*timeout*/) override {
    if (std::exchange(assigned_, true)) return Finished{};
    LanesAssigned assigned;
    assigned.lanes.push_back(std::make_unique<TableLane>(table_, context_.acks));
    return assigned;
  }
  Result<void> commit(std::span<const PartitionWatermark> /*watermarks*/) override { return {}; }
  bool bounded() const override { return true; }

 private:
  const Table& table_;
  SourceContext context_;
  bool assigned_ = false;
};

std::string expected(const std::string& name) {
  std::ifstream in(std::filesystem::path(MILLRACE_SINK_OUTPUTS) / name, std::ios::binary);
  EXPECT_TRUE(in.good()) << name;
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The one object that a run of `table` makes with these options.
std::pair<std::string, std::string> written(const Table& table, S3SinkOptions options) {
  options.url = "s3://b/out";
  options.path_template = "{stream}/{topic}";
  options.probe = false;
  const auto memory = std::make_shared<MemoryStore>();
  auto checked = s3_sink::check(options);
  if (!checked) return {"refused", checked.error().message()};
  auto sink = s3_sink::make_sink(*std::move(checked),
                                 [&](const StoreUrl&, const StoreOptions&, const StoreContext&) { return memory; });
  const EncodeSpec spec = sink->encode_spec();
  Pipeline pipeline(quick_run());
  pipeline.sink(Result<std::unique_ptr<Sink>>(std::move(sink))).chain_factory(make_config_chain({}, spec));
  const RunReport report = pipeline.run(std::make_unique<TableSource>(table));
  EXPECT_EQ(report.state, ExitState::completed) << why(report);
  const auto contents = memory->contents();
  EXPECT_EQ(contents.size(), 1U);
  if (contents.empty()) return {};
  return *contents.begin();
}

S3SinkOptions json(OutputFormat format, bool metadata, bool headers) {
  S3SinkOptions options;
  options.output_format = format;
  options.include_metadata = metadata;
  options.include_headers = headers;
  return options;
}

TEST(S3SinkOutputs, JsonWithAndWithoutMetadataAndHeaders) {
  for (const Table* table : {&orders(), &odd()}) {
    for (const bool metadata : {true, false}) {
      for (const bool headers : {true, false}) {
        const std::string name = table->name + (metadata ? ".metadata" : "") + (headers ? ".headers" : "");
        EXPECT_EQ(written(*table, json(OutputFormat::json_lines, metadata, headers)).second, expected(name + ".jsonl"))
            << name;
        EXPECT_EQ(written(*table, json(OutputFormat::json_array, metadata, headers)).second, expected(name + ".json"))
            << name;
      }
    }
  }
}

TEST(S3SinkOutputs, PayloadsAlone) {
  for (const auto& [format, suffix] :
       {std::pair{OutputFormat::json_lines, ".jsonl"}, std::pair{OutputFormat::json_array, ".json"}}) {
    S3SinkOptions options;
    options.output_format = format;
    options.wrap = false;
    EXPECT_EQ(written(orders(), options).second, expected(std::string("orders.unwrapped") + suffix));
  }
}

TEST(S3SinkOutputs, RawIsThePayloads) {
  for (const Table* table : {&orders(), &odd()}) {
    S3SinkOptions options;
    options.output_format = OutputFormat::raw;
    options.delimiter = "\n";
    EXPECT_EQ(written(*table, options).second, expected(table->name + ".raw.bin"));
  }
}

TEST(S3SinkOutputs, NamesTellPartitionAndOffsets) {
  EXPECT_EQ(written(orders(), {}).first, "out/shop/orders/00003-00000000000000000100-00000000000000000102.jsonl");
  S3SinkOptions options;
  options.output_format = OutputFormat::json_array;
  EXPECT_EQ(written(odd(), options).first, "out/shop/odd/00000-00000000000000000000-00000000000000000004.json");
  options.output_format = OutputFormat::raw;
  options.delimiter = "";
  EXPECT_EQ(written(odd(), options).first, "out/shop/odd/00000-00000000000000000000-00000000000000000004.bin");
}

}  // namespace
}  // namespace millrace::testing
