// SPDX-License-Identifier: Apache-2.0
// Goal: the suite of sinks notices each broken rule, and blames no other. Method: one sink for each, over a table in
// memory that keeps lines by batch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "millrace/testing/sink_conformance.h"

namespace millrace::conformance {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

enum class Wrong {
  none,
  has_no_type,
  holds_back,
  swallows_failures,
  gives_up_at_once,
  writes_twice,
  takes_the_bytes,
  tells_by_bytes,
  turns_order_around,
  listens_to_the_last_writer,
  closes_late,
  begins_anew,
};

/// What lies outside. Thread-safe.
struct Table {
  Mutex mutex;
  std::vector<std::pair<std::string, std::string>> batches MILLRACE_GUARDED_BY(mutex);  // what it is known by, bytes
  bool refuses MILLRACE_GUARDED_BY(mutex) = false;

  [[nodiscard]] std::vector<std::string> lines() {
    const MutexLock lock(mutex);
    std::vector<std::string> all;
    for (const auto& [name, bytes] : batches) {
      for (std::size_t from = 0; from < bytes.size();) {
        const std::size_t end = bytes.find('\n', from);
        all.push_back(bytes.substr(from, end - from));
        from = end + 1;
      }
    }
    return all;
  }
};

class WrongWriter final : public Writer {
 public:
  WrongWriter(Wrong wrong, std::shared_ptr<Table> table, std::shared_ptr<int> newest)
      : wrong_(wrong), table_(std::move(table)), newest_(std::move(newest)), number_(++*newest_) {}

  Result<Receipt> write(SealedBatch& batch) override {
    const MutexLock lock(table_->mutex);
    if (std::exchange(table_->refuses, false)) {
      if (wrong_ == Wrong::swallows_failures) return Receipt{};
      if (wrong_ == Wrong::gives_up_at_once) return fail(Error::fatal(ErrorCode::unavailable, "the table is busy"));
      return fail(Error::retryable(ErrorCode::unavailable, "the table is busy"));
    }
    const std::string bytes(batch.chunk.bytes.view());
    if (wrong_ == Wrong::takes_the_bytes) batch.chunk.bytes.clear();
    if (wrong_ == Wrong::holds_back) return Receipt{};  // for a close that does not come
    if (wrong_ == Wrong::listens_to_the_last_writer && number_ != *newest_) return Receipt{};
    put(batch, bytes);
    return Receipt{};
  }
  Result<void> close(SteadyTime) override {
    if (wrong_ == Wrong::closes_late) {
      Mutex mutex;
      CondVar never;
      const MutexLock lock(mutex);
      const SteadyTime until = Clock::real().now() + std::chrono::milliseconds(150);
      while (Clock::real().now() < until) Clock::real().wait_until(never, mutex, until);
    }
    return {};
  }

 private:
  void put(const SealedBatch& batch, const std::string& bytes) MILLRACE_REQUIRES(table_->mutex) {
    auto& batches = table_->batches;
    const std::string name = wrong_ == Wrong::tells_by_bytes ? bytes
                                                             : std::to_string(batch.chunk.partition.value()) + "/" +
                                                                   std::to_string(batch.chunk.first_offset.value());
    const auto known = std::ranges::find(batches, name, [](const auto& one) { return one.first; });
    if (known != batches.end() && wrong_ != Wrong::writes_twice) return;
    if (wrong_ == Wrong::turns_order_around) {
      batches.insert(batches.begin(), {name, bytes});
    } else {
      batches.emplace_back(name, bytes);
    }
  }

  const Wrong wrong_;
  const std::shared_ptr<Table> table_;
  const std::shared_ptr<int> newest_;
  const int number_;
};

class SinkWithAFault final : public Sink {
 public:
  SinkWithAFault(Wrong wrong, std::shared_ptr<Table> table) : wrong_(wrong), table_(std::move(table)) {}
  std::string_view type() const override { return wrong_ == Wrong::has_no_type ? "" : "table"; }
  Result<void> open(SinkContext) override {
    const MutexLock lock(table_->mutex);
    if (wrong_ == Wrong::begins_anew) table_->batches.clear();
    return {};
  }
  Result<std::unique_ptr<Writer>> make_writer() override {
    return std::make_unique<WrongWriter>(wrong_, table_, newest_);
  }
  SinkTraits traits() const override { return {.concurrency = 3}; }

 private:
  const Wrong wrong_;
  const std::shared_ptr<Table> table_;
  const std::shared_ptr<int> newest_ = std::make_shared<int>(0);
};

SinkUnderTest wrong_sink(Wrong wrong) {
  auto table = std::make_shared<Table>();
  SinkUnderTest made;
  made.make = [wrong, table] { return std::make_unique<SinkWithAFault>(wrong, table); };
  made.durable = [table] { return table->lines(); };
  made.fail_next = [table] {
    const MutexLock lock(table->mutex);
    table->refuses = true;
  };
  return made;
}

struct Broken {
  Wrong wrong;
  const char* rule;
};

class BrokenSink : public ::testing::TestWithParam<Broken> {};

TEST_P(BrokenSink, IsNamed) {
  SinkOptions options;
  options.patience = std::chrono::milliseconds(100);
  const Report report = sink([] { return wrong_sink(GetParam().wrong); }, options);
  EXPECT_THAT(report.rules(Verdict::broken), ElementsAre(GetParam().rule)) << report.to_text();
}

INSTANTIATE_TEST_SUITE_P(OneRuleEach, BrokenSink,
                         ::testing::Values(Broken{Wrong::has_no_type, "open_makes_writers"},
                                           Broken{Wrong::holds_back, "success_is_durable"},
                                           Broken{Wrong::swallows_failures, "failure_is_told"},
                                           Broken{Wrong::gives_up_at_once, "failure_is_classed"},
                                           Broken{Wrong::writes_twice, "retry_writes_once"},
                                           Broken{Wrong::takes_the_bytes, "batch_left_as_it_is"},
                                           Broken{Wrong::tells_by_bytes, "tokens_tell_batches_apart"},
                                           Broken{Wrong::turns_order_around, "order_is_kept"},
                                           Broken{Wrong::listens_to_the_last_writer, "writers_side_by_side"},
                                           Broken{Wrong::closes_late, "close_keeps_its_deadline"},
                                           Broken{Wrong::begins_anew, "next_run_adds"}),
                         [](const auto& broken) { return std::string(broken.param.rule); });

TEST(SinkSuite, TriesEveryRule) {
  const Report report = sink([] { return wrong_sink(Wrong::none); });
  EXPECT_THAT(report.rules(Verdict::broken), IsEmpty()) << report.to_text();
  EXPECT_THAT(report.rules(Verdict::not_applicable), IsEmpty()) << report.to_text();
}

}  // namespace
}  // namespace millrace::conformance
