// SPDX-License-Identifier: Apache-2.0
// Goal: the checkpointer equals a model that remembers every batch. Method: random sequences of issue, split, copy,
// drop, fail, drain, revoke and new epochs over a few partitions; after each drain the watermarks are compared with a
// naive scan of the model.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <vector>

#include "millrace/checkpoint/checkpointer.h"

namespace millrace {
namespace {

struct ModelBatch {
  std::int64_t last = 0;
  bool resolved = false;
  bool failed = false;
};

struct Held {
  AckRef ack;
  std::uint32_t partition = 0;
  std::uint64_t epoch = 0;
  std::size_t index = 0;
};

class Model {
 public:
  std::map<std::uint32_t, std::vector<ModelBatch>> batches;  // of the present epoch
  std::uint64_t epoch = 0;

  std::optional<std::int64_t> watermark(std::uint32_t partition) const {
    std::optional<std::int64_t> end;
    for (const ModelBatch& batch : batches.at(partition)) {
      if (!batch.resolved || batch.failed) break;
      end = batch.last + 1;
    }
    return end;
  }
};

void run(const std::vector<std::uint32_t>& choices) {
  Checkpointer checkpointer;
  AckIssuer issuer = checkpointer.issuer();
  Model model;
  std::vector<Held> held;
  std::map<std::uint32_t, std::int64_t> next_offset;
  std::map<std::uint32_t, std::optional<std::int64_t>> taken;
  const auto copies_of = [&](const Held& one) {
    std::size_t count = 0;
    for (const Held& other : held) {
      count += static_cast<std::size_t>(other.epoch == one.epoch && other.partition == one.partition &&
                                        other.index == one.index);
    }
    return count;
  };
  const auto begin = [&] {
    std::vector<PartitionId> partitions;
    model.batches.clear();
    taken.clear();
    for (std::uint32_t p = 0; p < 3; ++p) {
      partitions.emplace_back(p);
      model.batches[p] = {};
    }
    model.epoch = checkpointer.begin_epoch(partitions).value();
  };
  begin();
  for (const std::uint32_t choice : choices) {
    const std::uint32_t partition = (choice >> 8U) % 3;
    const std::size_t pick = held.empty() ? 0 : (choice >> 12U) % held.size();
    switch (choice % 16) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4: {
        const std::int64_t last = next_offset[partition] + static_cast<std::int64_t>((choice >> 16U) % 5);
        next_offset[partition] = last + 1;
        AckRef ack = issuer.issue(PartitionId(partition), Offset(last));
        if (!model.batches.contains(partition)) {
          RC_ASSERT(!ack);
          break;
        }
        model.batches[partition].push_back({last});
        held.push_back({std::move(ack), partition, model.epoch, model.batches[partition].size() - 1});
        break;
      }
      case 5:
        if (!held.empty()) held.push_back(held[pick]);
        break;
      case 6:
      case 7:
      case 8:
      case 9:
      case 10:
      case 11: {
        if (held.empty()) break;
        const bool fails = choice % 16 == 11;
        Held gone = std::move(held[pick]);
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(pick));
        if (fails) gone.ack.fail();
        if (gone.epoch == model.epoch && model.batches.contains(gone.partition)) {
          ModelBatch& batch = model.batches[gone.partition][gone.index];
          batch.failed |= fails;
          batch.resolved |= copies_of(gone) == 0;
        }
        break;
      }
      case 12: {  // split the newest batch of a partition, held once
        if (held.empty()) break;
        Held& whole = held[pick];
        if (whole.epoch != model.epoch || !model.batches.contains(whole.partition)) break;
        auto& batches = model.batches[whole.partition];
        if (whole.index + 1 != batches.size() || batches[whole.index].last == 0) break;
        const std::int64_t before = whole.index == 0 ? -1 : batches[whole.index - 1].last;
        const std::int64_t upto = batches[whole.index].last - 1;
        if (upto < before) break;
        AckRef rest = issuer.split(whole.ack, Offset(upto));
        RC_ASSERT(static_cast<bool>(rest));
        batches.push_back({batches[whole.index].last});
        batches[whole.index].last = upto;
        held.push_back({std::move(rest), whole.partition, model.epoch, batches.size() - 1});
        break;
      }
      case 13:
        if ((choice >> 20U) % 8 == 0) begin();
        break;
      case 14:
        if ((choice >> 20U) % 8 == 0) {
          checkpointer.revoke(std::vector{PartitionId(partition)});
          model.batches.erase(partition);
          taken.erase(partition);
        }
        break;
      default: {
        checkpointer.drain();
        for (const PartitionWatermark& moved : checkpointer.take_watermarks()) {
          auto& before = taken[moved.partition.value()];
          RC_ASSERT(!before || moved.watermark.value() > *before);
          before = moved.watermark.value();
        }
        for (const auto& [p, batches] : model.batches) RC_ASSERT(taken[p] == model.watermark(p));
      }
    }
  }
}

TEST(CheckpointerProperty, INV1_INV5_EqualsTheModel) {
  EXPECT_TRUE(
      rc::check([] { run(*rc::gen::container<std::vector<std::uint32_t>>(rc::gen::arbitrary<std::uint32_t>())); }));
  EXPECT_TRUE(rc::check(
      [] { run(*rc::gen::container<std::vector<std::uint32_t>>(400, rc::gen::arbitrary<std::uint32_t>())); }));
}

}  // namespace
}  // namespace millrace
