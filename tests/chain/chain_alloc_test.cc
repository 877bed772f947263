// SPDX-License-Identifier: Apache-2.0
// INV-8: in steady state a record costs no allocation. Every chain runs over batches of two sizes, each until its
// buffers have grown, and then once more with every allocation of the program counted.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "millrace/decode/json.h"
#include "millrace/decode/raw.h"
#include "millrace/encode/encode.h"
#include "millrace/ops/ops.h"
#include "tests/chain/allocation_count.h"
#include "tests/chain/lane_rig.h"

namespace millrace {
namespace {

struct Item {
  std::string name;
  double price = 0;
};
MILLRACE_JSON_FIELDS(Item, name, price);
struct Basket {
  std::uint64_t id = 0;
  std::string_view customer;
  std::string note;
  std::optional<double> discount;
  std::vector<Item> items;
};
MILLRACE_JSON_FIELDS(Basket, id, customer, note, discount, items);

constexpr std::string_view kBasket =
    R"({"id":12345,"customer":"J\u00fcrgen of the long name that fits no small buffer","note":"a note that fits no small buffer either",)"
    R"("discount":null,"items":[{"name":"an item with quite a long name, \"quoted\"","price":1.25},{"name":"b","price":0.1}]})";

// Allocations of one more run over `records` records.
std::size_t allocations_of(LaneRig& rig, std::string_view payload, std::size_t records) {
  const std::vector<std::string_view> payloads(records, payload);
  std::size_t counted_once = 0;
  for (int round = 0; round < 4; ++round) {
    rig.poll(payloads);
    const std::size_t before = allocation_count();
    const ChainStep step = rig.run();
    counted_once = allocation_count() - before;
    EXPECT_EQ(step.next, records);
    if (step.error) ADD_FAILURE() << step.error->message();
    // Written, and the buffer comes back, as the sink's threads do it.
    rig.seal_all();
    for (std::size_t sink = 0; sink < rig.outputs.all().size(); ++sink) rig.queue(sink).deliver_all();
    EXPECT_EQ(rig.watermark(), rig.next_offset);
  }
  return counted_once;
}

template <class MakePlan>
void expect_no_allocation(MakePlan make_plan, std::vector<RigSink> sinks = {RigSink{}},
                          std::string_view payload = kBasket) {
  for (RigSink& sink : sinks) sink.policy.max_bytes = 0;
  LaneRig rig(sinks);
  rig.origin = std::make_shared<Origin>();
  rig.chain(make_plan());
  const std::size_t small = allocations_of(rig, payload, 64);
  const std::size_t large = allocations_of(rig, payload, 1024);
  EXPECT_EQ(large, small) << "what a batch costs does not grow with its records";
  EXPECT_LE(large, 2 * sinks.size()) << "a chunk's first ack may allocate; nothing else does";
}

TEST(ChainAllocations, TheCounterCounts) {
  const std::size_t before = allocation_count();
  const std::vector<std::string> made(3, std::string(before % 7 + 100, 'x'));
  EXPECT_EQ(made.size(), 3U);
  EXPECT_GE(allocation_count(), before + 4);
}

TEST(ChainAllocations, INV8_RawPassesWithoutOne) {
  expect_no_allocation([] { return decode::raw() | encode::raw(); });
  expect_no_allocation([] { return decode::text() | encode::json_lines(); });
}

TEST(ChainAllocations, INV8_CheckedAndWrappedJsonPassesWithoutOne) {
  expect_no_allocation([] { return decode::json() | encode::json_lines({.wrap = true}); });
  expect_no_allocation([] { return decode::raw() | encode::json_array({.wrap = true, .timestamp_digits = 6}); });
  expect_no_allocation([] { return decode::json({.reject_duplicate_keys = true}) | encode::json_lines(); });
}

// Fields with and without escapes, inside of others, and one that is not there, which is counted.
TEST(ChainAllocations, INV8_RoutedRecordsPassWithoutOne) {
  using From = RouteSpec::Part::From;
  RigSink sink;
  sink.policy.routed = true;
  sink.policy.max_open = 4;
  sink.route.parts = {{From::field, "customer"}, {From::field, "id"}, {From::field, "items.none"}, {From::key, ""}};
  expect_no_allocation([] { return decode::json() | encode::json_lines({.wrap = true}); }, {sink});
  expect_no_allocation([] { return decode::raw() | encode::raw(); }, {sink});
  expect_no_allocation([] { return decode::json<Basket>() | encode::json_lines(); }, {sink});
  expect_no_allocation([] { return decode::json({.framing = decode::JsonFraming::lines}) | encode::json_lines(); },
                       {sink});
}

// A place for records that are skipped costs those that pass nothing.
TEST(ChainAllocations, INV8_RecordsPassAPlaceOfDeadLettersWithoutOne) {
  expect_no_allocation([] { return decode::json({.on_error = OnError::skip}) | encode::json_lines({.wrap = true}); },
                       {RigSink{}, RigSink{.name = std::string(kDeadLetterSink)}});
}

TEST(ChainAllocations, INV8_BinaryBecomesBase64WithoutOne) {
  // Not being JSON is an answer here, not an error.
  expect_no_allocation([] { return decode::raw() | encode::json_lines({.wrap = true}); }, {RigSink{}},
                       "not JSON at all");
}

TEST(ChainAllocations, INV8_TypedRecordsPassWithoutOne) {
  expect_no_allocation([] {
    return decode::json<Basket>() | ops::filter([](const Basket& b) { return b.id != 0; }) |
           ops::map([](const Basket& b) -> const Basket& { return b; }) |
           ops::inspect([](const Basket&, const RecordMeta&) {}) | encode::json_lines({.wrap = true});
  });
}

TEST(ChainAllocations, INV8_OperatorsAndBranchesPassWithoutOne) {
  expect_no_allocation(
      [] {
        return decode::raw() | ops::try_map([](std::string_view p) -> Result<std::string_view> { return p; }) |
               ops::flat_map([](std::string_view p, auto emit) {
                 emit(p.substr(1));
                 emit(p.substr(2));
               }) |
               ops::fan_out(encode::raw().to("a"),
                            ops::split(ops::when([](std::string_view p) { return p.size() % 2 == 0; },
                                                 encode::json_lines().to("b")),
                                       ops::otherwise(encode::raw().to("b"))));
      },
      {RigSink{.name = "a"}, RigSink{.name = "b"}});
}

TEST(ChainAllocations, INV8_FramedPayloadsPassWithoutOne) {
  expect_no_allocation([] { return decode::json({.framing = decode::JsonFraming::lines}) | encode::json_lines(); },
                       {RigSink{}}, "{\"a\":1}\n{\"b\":[1,2,3]}\n\"c\"");
  expect_no_allocation([] { return decode::json({.framing = decode::JsonFraming::array}) | encode::json_lines(); },
                       {RigSink{}}, R"([{"a":1},{"b":[1,2,3]},"c"])");
}

TEST(ChainAllocations, INV8_FilteredRecordsCostNone) {
  expect_no_allocation(
      [] { return decode::json() | ops::filter([](std::string_view) { return false; }) | encode::json_lines(); });
}

}  // namespace
}  // namespace millrace
