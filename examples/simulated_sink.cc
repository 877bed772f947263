// SPDX-License-Identifier: Apache-2.0
// A sink of one's own under the simulator: whole runs on one thread, with refused and slow writes, stops, kills and
// restarts, under as many seeds as one likes.
#include <millrace/testing/simulator.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace {

// What lies outside: a file, a table, a server. Here lines in memory, which outlive the runs.
using Table = std::vector<std::string>;

class TableWriter final : public millrace::Writer {
 public:
  explicit TableWriter(std::shared_ptr<Table> table) : table_(std::move(table)) {}
  millrace::Result<millrace::Receipt> write(millrace::SealedBatch& batch) override {
    std::string_view bytes = batch.chunk.bytes.view();
    for (std::size_t end = 0; (end = bytes.find('\n')) != std::string_view::npos; bytes.remove_prefix(end + 1)) {
      table_->emplace_back(bytes.substr(0, end));
    }
    return millrace::Receipt{};
  }

 private:
  const std::shared_ptr<Table> table_;
};

class TableSink final : public millrace::Sink {
 public:
  explicit TableSink(std::shared_ptr<Table> table) : table_(std::move(table)) {}
  std::string_view type() const override { return "table"; }
  millrace::Result<void> open(millrace::SinkContext) override { return {}; }
  millrace::Result<std::unique_ptr<millrace::Writer>> make_writer() override {
    return std::make_unique<TableWriter>(table_);
  }
  millrace::SealPolicy seal_policy() const override { return {.max_records = 4}; }

 private:
  const std::shared_ptr<Table> table_;
};

}  // namespace

int main() {
  for (const std::uint64_t seed : millrace::testing::simulation_seeds(25)) {
    const auto world = [] {
      auto table = std::make_shared<Table>();
      return millrace::testing::Simulation{.sink = [table] { return std::make_unique<TableSink>(table); },
                                           .durable = [table] { return *table; }};
    };
    const millrace::testing::SimulationReport report = millrace::testing::simulate(world, seed);
    if (report.kept()) continue;
    std::fputs(report.to_text().c_str(), stderr);
    return 1;
  }
  std::puts("nothing was lost under any seed");
}
