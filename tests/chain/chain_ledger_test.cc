// SPDX-License-Identifier: Apache-2.0
// What a chain says of each record, against a model that knows the payloads alone: whenever a watermark comes to rest,
// the accounts up to it are there, leave out no record, tell none twice, and give each its fate.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "millrace/decode/raw.h"
#include "millrace/encode/encode.h"
#include "millrace/ops/ops.h"
#include "tests/chain/lane_rig.h"

namespace millrace {
namespace {

bool has(std::string_view text, char c) { return text.find(c) != std::string_view::npos; }

// f: filtered. s: skipped. Else as many records as it has letters, of which each `r` is skipped and each `d` dropped.
auto multiplying() {
  const auto refuse = [](std::string_view text) -> Result<std::string> {
    if (has(text, 's')) return fail(Error::record(ErrorCode::malformed, "s"));
    return std::string(text);
  };
  const auto letters = [](const std::string& text, auto emit) {
    for (const char c : text) emit(std::string(1, c));
  };
  const auto refuse_letter = [](const std::string& text) -> Result<std::string> {
    if (text == "r") return fail(Error::record(ErrorCode::wrong_type, "r"));
    return text;
  };
  return decode::raw() | ops::filter([](std::string_view text) { return !has(text, 'f'); }) |
         ops::try_map(refuse, {.on_error = OnError::skip}) | ops::flat_map(letters) |
         ops::try_map(refuse_letter, {.on_error = OnError::skip}) |
         ops::filter([](const std::string& text) { return text != "d"; }) | encode::raw({.delimiter = "\n"});
}
RecordFates multiplied(const std::string& text) {
  if (has(text, 'f')) return {.in = 1, .filtered = 1};
  if (has(text, 's')) return {.in = 1, .skipped = {{ErrorCode::malformed, 1}}};
  RecordFates fates{.in = 1};
  for (const char c : text) fates.encoded += c != 'r' && c != 'd' ? 1U : 0U;
  if (has(text, 'r')) {
    fates.skip(ErrorCode::wrong_type);
  } else if (fates.encoded != 0) {
    fates.out = 1;
  } else {
    fates.filtered = 1;
  }
  return fates;
}

// One record becomes one or none.
auto plain() {
  const auto refuse = [](std::string_view text) -> Result<std::string> {
    if (has(text, 's')) return fail(Error::record(ErrorCode::malformed, "s"));
    return std::string(text);
  };
  return decode::raw() | ops::filter([](std::string_view text) { return !has(text, 'f'); }) |
         ops::try_map(refuse, {.on_error = OnError::skip}) | encode::raw({.delimiter = "\n"});
}
RecordFates passed(const std::string& text) {
  if (has(text, 'f')) return {.in = 1, .filtered = 1};
  if (has(text, 's')) return {.in = 1, .skipped = {{ErrorCode::malformed, 1}}};
  return {.in = 1, .out = 1, .encoded = 1};
}

using Counts = std::map<ErrorCode, std::uint64_t>;
Counts by_reason(const RecordFates::ByReason& counts) { return {counts.begin(), counts.end()}; }

template <class Plan, class Model>
void check(Plan plan, Model model) {
  const auto limits = [] {
    return SealPolicy{.max_bytes = *rc::gen::inRange<std::size_t>(1, 40),
                      .max_records = *rc::gen::inRange<std::uint64_t>(0, 5)};
  };
  std::vector<RigSink> sinks{{.policy = limits()}};
  const bool kept = *rc::gen::arbitrary<bool>();  // what is skipped has a place to go
  if (kept) sinks.push_back({.name = std::string(kDeadLetterSink), .policy = limits()});
  LaneRig rig(sinks);
  rig.ledger = std::make_shared<Ledger>();
  rig.chain(std::move(plan));
  const auto payload = rc::gen::container<std::string>(rc::gen::element('a', 'b', 'a', 'd', 'r', 'f', 's'));
  const auto batches =
      *rc::gen::container<std::vector<std::vector<std::string>>>(rc::gen::container<std::vector<std::string>>(payload));
  std::vector<std::string> all;
  std::int64_t told = 0;  // offsets below this one
  const auto look = [&] {
    const std::int64_t settled = rig.watermark();
    const auto taken = rig.ledger->take(kRigPartition, Watermark(settled));
    for (const RecordAccount& account : taken.accounts) {
      RC_ASSERT(account.first.value() == told);
      RecordFates expected;
      for (; told <= account.last.value(); ++told) expected += model(all[static_cast<std::size_t>(told)]);
      RC_ASSERT(account.fates.in == expected.in);
      RC_ASSERT(account.fates.out == expected.out);
      RC_ASSERT(account.fates.filtered == expected.filtered);
      RC_ASSERT(account.fates.encoded == expected.encoded);
      RC_ASSERT(by_reason(kept ? account.fates.dead_lettered : account.fates.skipped) == by_reason(expected.skipped));
      RC_ASSERT((kept ? account.fates.skipped : account.fates.dead_lettered).empty());
    }
    RC_ASSERT(told == settled);
  };
  for (const auto& batch : batches) {
    if (batch.empty()) continue;
    all.insert(all.end(), batch.begin(), batch.end());
    rig.poll({batch.begin(), batch.end()});
    while (rig.from < batch.size()) {
      for (std::size_t i = 0; i < sinks.size(); ++i) rig.queue(i).room = *rc::gen::inRange<std::size_t>(0, 3);
      const ChainStep step = rig.run();
      RC_ASSERT(!step.error);
      // Blocked, or through: some of what is sealed becomes durable.
      for (std::size_t i = 0; i < sinks.size(); ++i) {
        if (*rc::gen::arbitrary<bool>() && !rig.queue(i).batches.empty()) rig.queue(i).deliver();
      }
      look();
      for (std::size_t i = 0; i < sinks.size(); ++i) rig.queue(i).room = 1;
      for (const auto& [name, sink] : rig.outputs.all()) sink->offer();
    }
  }
  for (std::size_t i = 0; i < sinks.size(); ++i) rig.queue(i).room = 1'000'000;
  for (const auto& [name, sink] : rig.outputs.all()) sink->offer();
  rig.seal_all();
  for (std::size_t i = 0; i < sinks.size(); ++i) rig.queue(i).deliver_all();
  look();
  RC_ASSERT(static_cast<std::size_t>(told) == all.size());
  if (!kept) return;
  std::string letters;  // one for each record of which anything was skipped, whole
  for (const std::string& text : all) {
    if (!model(text).skipped.empty()) letters += text + "\n";
  }
  RC_ASSERT(rig.written(1) == letters);
}

RC_GTEST_PROP(ChainLedger, INV6_EachRecordHasOneFateWhenItBecomesOneOrNone, ()) { check(plain(), passed); }
RC_GTEST_PROP(ChainLedger, INV6_EachRecordHasOneFateWhenItBecomesSeveral, ()) { check(multiplying(), multiplied); }

}  // namespace
}  // namespace millrace
