// SPDX-License-Identifier: Apache-2.0
// Operators and encoders in a chain: what each does to records and counts, worked out by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "millrace/decode/json.h"
#include "millrace/decode/raw.h"
#include "millrace/encode/encode.h"
#include "millrace/ops/ops.h"
#include "tests/chain/lane_rig.h"

namespace shop {

struct Order {
  std::int64_t id = 0;
  std::string_view customer;
  std::int64_t amount = 0;
};
MILLRACE_JSON_FIELDS(Order, id, customer, amount);

struct Invoice {
  std::int64_t order = 0;
  std::string_view to;
};
MILLRACE_JSON_FIELDS(Invoice, order, to);

}  // namespace shop

namespace millrace {
namespace {

using shop::Invoice;
using shop::Order;
using testing::HasSubstr;

using Skipped = std::vector<std::pair<ErrorCode, std::uint64_t>>;

std::string_view as_is(std::string_view payload) { return payload; }

Result<std::string> no_x(std::string_view text) {
  if (text == "fatal") return fail(Error::fatal(ErrorCode::internal, "cannot go on"));
  if (text.find('x') != std::string_view::npos) return fail(Error::record(ErrorCode::malformed, "has an x"));
  return std::string(text);
}

TEST(Chain, TypedOrdersPassAllTheWay) {
  LaneRig rig;
  rig.chain(decode::json<Order>({.on_error = OnError::skip}) |
            ops::filter([](const Order& o) { return o.amount > 0; }) |
            ops::map([](const Order& o) { return Invoice{o.id, o.customer}; }) | encode::json_lines());
  rig.feed({R"({"id":1,"customer":"a","amount":5})", R"({"id":2,"customer":"b","amount":0})", R"({"id":3})",
            R"({"id":4,"customer":"\u00e9","amount":1})"});
  EXPECT_EQ(rig.written(), "{\"order\":1,\"to\":\"a\"}\n{\"order\":4,\"to\":\"\xC3\xA9\"}\n");
  EXPECT_EQ(rig.counts.records_in, 4U);
  EXPECT_EQ(rig.counts.records_decoded, 3U);
  EXPECT_EQ(rig.counts.filtered, 1U);
  EXPECT_EQ(rig.counts.records_out, 2U);
  EXPECT_EQ(rig.counts.skipped, (Skipped{{ErrorCode::missing_field, 1}}));
  EXPECT_EQ(rig.counts.payload_bytes, 34U + 34U + 8U + 39U);
  EXPECT_EQ(rig.watermark(), 0);
  rig.queue().deliver_all();
  EXPECT_EQ(rig.watermark(), 4);
}

TEST(Chain, CallablesMayTakeTheMeta) {
  LaneRig rig;
  std::vector<std::int64_t> seen;
  rig.chain(decode::raw() | ops::filter([](std::string_view, const RecordMeta& m) { return m.offset.value() != 1; }) |
            ops::inspect([&seen](std::string_view, const RecordMeta& m) { seen.push_back(m.offset.value()); }) |
            ops::map([](std::string_view p, const RecordMeta& m) {
              return std::string(p) + std::to_string(m.offset.value());
            }) |
            encode::raw({.delimiter = "|"}));
  rig.feed({"a", "b", "c"});
  EXPECT_EQ(rig.written(), "a0|c2|");
  EXPECT_EQ(seen, (std::vector<std::int64_t>{0, 2}));
}

TEST(Chain, MembersMap) {
  LaneRig rig;
  rig.chain(decode::json<Order>() | ops::map(&Order::customer) | encode::json_array());
  rig.feed({R"({"id":1,"customer":"a","amount":5})"});
  EXPECT_EQ(rig.written(), "\"a\"");
}

TEST(Chain, FlatMapEmitsOrReturnsARange) {
  const auto letters = [](std::string_view p, auto emit) {
    for (const char& c : p) emit(std::string_view(&c, 1));
  };
  const auto twice = [](std::string_view c) { return std::vector<std::string>(2, std::string(c)); };
  const auto numbered = [](std::string_view p, const RecordMeta& m, const auto& emit) {
    if (!p.empty()) emit(std::string(p) + std::to_string(m.offset.value()));
  };
  LaneRig rig;
  rig.chain(decode::raw() | ops::flat_map(letters) | ops::flat_map(twice) | ops::flat_map(numbered) |
            encode::raw({.delimiter = ","}));
  rig.feed({"ab", "", "c"});
  EXPECT_EQ(rig.written(), "a0,a0,b0,b0,c2,c2,");
  EXPECT_EQ(rig.counts.records_out, 6U);
  EXPECT_EQ(rig.counts.filtered, 1U) << "a record that became none is counted (INV-6)";
  rig.queue().deliver_all();
  EXPECT_EQ(rig.watermark(), 3);
}

TEST(Chain, TryMapSkipsOrFails) {
  LaneRig skipping;
  skipping.chain(decode::raw() | ops::try_map(no_x, {.on_error = OnError::skip}) | encode::raw());
  skipping.feed({"a", "x", "b"});
  EXPECT_EQ(skipping.written(), "a\nb\n");
  EXPECT_EQ(skipping.counts.skipped, (Skipped{{ErrorCode::malformed, 1}}));
  skipping.poll({"c", "fatal", "d"});
  const ChainStep fatal = skipping.run();
  EXPECT_EQ(fatal.next, 1U);
  ASSERT_TRUE(fatal.error.has_value()) << "a fatal class overrides skip";
  EXPECT_TRUE(fatal.error->is_fatal());

  LaneRig failing;
  failing.chain(decode::raw() | ops::try_map(no_x) | encode::raw());
  failing.poll({"a", "x", "b"});
  const ChainStep step = failing.run();
  EXPECT_EQ(step.next, 1U);
  ASSERT_TRUE(step.error.has_value());
  EXPECT_EQ(step.error->message(), "offset 1 of partition 5, stage 2 (try_map): has an x");
  EXPECT_EQ(failing.written(), "a\n");
  EXPECT_EQ(failing.counts.records_in, 1U);
}

TEST(Chain, SplitSendsARecordToTheFirstBranchThatWantsIt) {
  LaneRig rig({{.name = "a"}, {.name = "b"}, {.name = "c"}});
  rig.chain(
      decode::json<Order>() |
      ops::split(
          ops::when([](const Order& o) { return o.amount > 100; }, encode::json_lines().to("a")),
          ops::when([](const Order& o) { return o.amount > 10; }, ops::map(&Order::id) | encode::json_array().to("b")),
          ops::otherwise(ops::map([](const Order&) { return std::string("rest"); }) | encode::raw().to("c"))));
  rig.feed({R"({"id":1,"customer":"x","amount":500})", R"({"id":2,"customer":"x","amount":50})",
            R"({"id":3,"customer":"x","amount":5})"});
  EXPECT_EQ(rig.written(0), "{\"id\":1,\"customer\":\"x\",\"amount\":500}\n");
  EXPECT_EQ(rig.written(1), "2");
  EXPECT_EQ(rig.written(2), "rest\n");
}

TEST(Chain, WhatNoBranchWantsSkipsOrFails) {
  const auto only_a = [] { return ops::when([](std::string_view p) { return p == "a"; }, encode::raw()); };
  LaneRig skipping;
  skipping.chain(decode::raw() | ops::split({.on_unmatched = OnError::skip}, only_a()));
  skipping.feed({"a", "b"});
  EXPECT_EQ(skipping.written(), "a\n");
  EXPECT_EQ(skipping.counts.skipped, (Skipped{{ErrorCode::unrouted, 1}}));
  LaneRig failing;
  failing.chain(decode::raw() | ops::split(only_a()));
  failing.poll({"a", "b"});
  const ChainStep step = failing.run();
  ASSERT_TRUE(step.error.has_value());
  EXPECT_EQ(step.error->message(),
            "offset 1 of partition 5, stage 2 (split): no branch takes this record; add ops::otherwise(...)");
}

TEST(Chain, INV1_FanOutWaitsForEveryBranch) {
  LaneRig rig({{.name = "a"}, {.name = "b"}});
  rig.chain(decode::raw() | ops::fan_out(encode::raw().to("a"), ops::map(as_is) | encode::json_lines().to("b")));
  rig.feed({"1", "2"});
  rig.seal_all();
  EXPECT_EQ(rig.written(0), "1\n2\n");
  EXPECT_EQ(rig.written(1), "\"1\"\n\"2\"\n");
  EXPECT_EQ(rig.counts.records_out, 4U);
  rig.queue(0).deliver_all();
  EXPECT_EQ(rig.watermark(), 0);
  rig.queue(1).deliver_all();
  EXPECT_EQ(rig.watermark(), 2);
}

TEST(Chain, TwoEncodersOfOneSinkKeepTheOrderOfEmission) {
  const auto two = [](std::string_view p) {
    return std::vector<std::string>{std::string(p) + "1", std::string(p) + "2"};
  };
  LaneRig rig;
  rig.chain(decode::raw() | ops::flat_map(two) |
            ops::fan_out(encode::raw({.delimiter = ","}), encode::raw({.delimiter = ";"})));
  rig.feed({"a"});
  EXPECT_EQ(rig.written(), "a1,a1;a2,a2;");
}

TEST(Chain, NothingOfAFailedRecordIsWrittenToAnySink) {
  const auto letters = [](std::string_view p, auto emit) {
    for (const char& c : p) emit(std::string_view(&c, 1));
  };
  LaneRig rig({{.name = "a"}, {.name = "b"}});
  rig.chain(decode::raw() | ops::flat_map(letters) |
            ops::fan_out(encode::raw({.delimiter = ""}).to("a"),
                         ops::try_map(no_x) | encode::raw({.delimiter = ""}).to("b")));
  rig.poll({"ab", "cxd", "e"});
  const ChainStep step = rig.run();
  EXPECT_EQ(step.next, 1U);
  ASSERT_TRUE(step.error.has_value());
  EXPECT_THAT(step.error->message(), HasSubstr("stage 3, branch 2, stage 1 (try_map)"));
  EXPECT_EQ(rig.written(0), "ab");
  EXPECT_EQ(rig.written(1), "ab");
  EXPECT_EQ(rig.counts.records_out, 4U);
}

TEST(Chain, EncoderErrorsTakeTheHalfWrittenRecordBack) {
  const auto half = [](std::string_view p, const RecordMeta&, ByteBuffer& out) -> Result<void> {
    out.append(p.substr(0, p.size() / 2));
    if (p == "xx") return fail(Error::record(ErrorCode::malformed, "no"));
    out.append(p.substr(p.size() / 2));
    return {};
  };
  LaneRig rig({{.name = "sink", .envelope = {"[", ",", "]"}}});
  rig.chain(decode::raw() | encode::with(half, {.on_error = OnError::skip}));
  rig.feed({"xx", "ab", "xx", "cd", "xx"});
  EXPECT_EQ(rig.written(), "[ab,cd]");
  EXPECT_EQ(rig.counts.skipped, (Skipped{{ErrorCode::malformed, 3}}));
  rig.queue().deliver_all();
  EXPECT_EQ(rig.watermark(), 5) << "a skipped record is settled with its batch";
}

TEST(Chain, UserCodeThatThrowsEndsTheRunAndIsNamed) {
  const auto throwing = [](std::string_view p) {
    if (p == "boom") throw std::runtime_error("no such order");
    return std::string(p);
  };
  LaneRig rig;
  rig.chain(decode::raw() | ops::inspect([](std::string_view) {}) | ops::map(throwing) | encode::raw());
  rig.poll({"a", "b", "boom", "c"});
  const ChainStep step = rig.run();
  EXPECT_EQ(step.next, 2U);
  ASSERT_TRUE(step.error.has_value());
  EXPECT_TRUE(step.error->is_fatal());
  EXPECT_EQ(step.error->code(), ErrorCode::user_code);
  EXPECT_EQ(
      step.error->message(),
      "offset 2 of partition 5, stage 3 (map): the code of this stage threw std::runtime_error (\"no such order\"); "
      "nothing from this record on is committed. Return Result<T> from ops::try_map for what may fail");
  EXPECT_EQ(rig.written(), "a\nb\n");
  EXPECT_EQ(rig.counts.records_in, 2U);
}

TEST(Chain, AnEncoderThatThrowsLeavesNothingBehind) {
  const auto throwing = [](std::string_view p, const RecordMeta&, ByteBuffer& out) -> Result<void> {
    out.append(p);
    if (p == "boom") throw 42;
    return {};
  };
  LaneRig rig({{.name = "a"}, {.name = "b"}});
  rig.chain(decode::raw() | ops::fan_out(encode::raw().to("a"), encode::with(throwing).to("b")));
  rig.poll({"a", "boom"});
  const ChainStep step = rig.run();
  ASSERT_TRUE(step.error.has_value());
  EXPECT_THAT(step.error->message(),
              HasSubstr("stage 2, branch 2, stage 1 (encode): the code of this stage threw something"));
  EXPECT_EQ(rig.written(0), "a\n");
  EXPECT_EQ(rig.written(1), "a");
  LaneRig alone;
  alone.chain(decode::raw() | encode::with(throwing));
  alone.poll({"a", "boom"});
  EXPECT_TRUE(alone.run().error.has_value());
  EXPECT_EQ(alone.written(), "a");
}

TEST(Chain, ACallableThatThrowsAfterItEmittedIsNamedItself) {
  const auto throwing = [](std::string_view p, auto emit) {
    emit(p);
    throw std::logic_error("after");
  };
  LaneRig rig;
  rig.chain(decode::raw() | ops::flat_map(throwing) | ops::map(as_is) | encode::raw());
  rig.poll({"a"});
  EXPECT_THAT(rig.run().error->message(), HasSubstr("stage 2 (flat_map)")) << "not the stage it emitted to";
  EXPECT_EQ(rig.written(), "");
}

TEST(Chain, StateOfOperatorsIsOneLanesOwn) {
  const auto factory = [] {
    return decode::raw() | ops::map([n = 0](std::string_view) mutable { return std::to_string(++n); }) | encode::raw();
  };
  LaneRig first;
  LaneRig second;
  first.chain(factory()).feed({"x", "x"}).feed({"x"});
  second.chain(factory()).feed({"x"});
  EXPECT_EQ(first.written(), "1\n2\n3\n");
  EXPECT_EQ(second.written(), "1\n");
}

TEST(Chain, NamesOfSinksAreCheckedWhenItIsBuilt) {
  LaneRig rig({{.name = "a"}, {.name = "b"}});
  const auto unknown = compile(decode::raw() | encode::raw().to("c"), rig.context());
  ASSERT_FALSE(unknown.has_value());
  EXPECT_EQ(unknown.error().code(), ErrorCode::config);
  EXPECT_EQ(unknown.error().message(), "stage 2 (raw): there is no sink 'c'; there are: 'a', 'b'");
  const auto unnamed = compile(decode::raw() | encode::raw(), rig.context());
  ASSERT_FALSE(unnamed.has_value());
  EXPECT_EQ(unnamed.error().message(),
            "stage 2 (raw): the pipeline has several sinks ('a', 'b'); say which one with .to(\"name\")");
  LaneOutputs none;
  ChainContext context = rig.context();
  context.outputs = &none;
  EXPECT_EQ(compile(decode::raw() | encode::raw(), context).error().message(),
            "stage 2 (raw): there is no sink ''; there is none at all");
}

}  // namespace
}  // namespace millrace
