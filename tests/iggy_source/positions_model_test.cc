// SPDX-License-Identifier: Apache-2.0
// Goal: whatever comes in whatever order, a stored offset is never ahead of what is durable (INV-1), and what is
// skipped is what the server no longer has, said with both numbers. Method: a seed chooses deliveries, what of them
// becomes durable and when, commits, rebalances, crashes of the process, restarts of the server, tails that it loses
// and beginnings that it removes. A model knows each message by a number of its own, so that an offset that is given
// out again is another message; the server is the fake one, and what it has and keeps is asked from it.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/checkpoint/checkpointer.h"
#include "millrace/testing/seeded_random.h"
#include "tests/iggy_source/source_fixture.h"

namespace millrace::iggy_source {
namespace {

constexpr std::uint32_t kPartitions = 3;
constexpr int kSteps = 60;

nlohmann::json at(std::uint32_t partition, nlohmann::json more = nlohmann::json::object()) {
  more.update({{"stream", "s"}, {"topic", "t"}, {"partition", partition}});
  return more;
}
nlohmann::json member(nlohmann::json more = nlohmann::json::object()) {
  more.update({{"stream", "s"}, {"topic", "t"}, {"group", "mill"}, {"client", "abc"}});
  return more;
}
int number_in(std::string_view payload) { return std::stoi(std::string(payload.substr(payload.find(':') + 1))); }

std::vector<std::int64_t> numbers_in(std::string_view text) {
  std::vector<std::int64_t> all;
  bool within = false;
  for (const char byte : text) {
    const bool digit = byte >= '0' && byte <= '9';
    if (digit && !within) all.push_back(0);
    if (digit) all.back() = all.back() * 10 + (byte - '0');
    within = digit;
  }
  return all;
}

class Simulation {
 public:
  Simulation(const std::string& framing, std::uint64_t seed)
      : random_(seed), server_(framing, {"--rebalance-timeout", "0.2"}) {
    server_.create(kPartitions, "mill");
    // An offset stored for an empty partition means the first message to come, by a defect of servers that no client
    // can see; so none is empty. And each has a position from which on nothing may go unsaid.
    for (std::uint32_t p = 0; p < kPartitions; ++p) append(p, 3);
    server_.control({{"flush", true}});
  }
  ~Simulation() { crash(); }

  void run() {
    begin();
    read_to_the_end();
    for (int i = 0; i < kSteps && !::testing::Test::HasFailure(); ++i) {
      step();
      listen();
      check();
    }
    if (!::testing::Test::HasFailure()) finish();
  }
  [[nodiscard]] std::string story() const { return story_ + "\n" + log_->all(); }

 private:
  struct Batch {
    std::vector<int> numbers;
    AckRef ack;
  };
  using Held = std::map<std::int64_t, int>;  // offset: number

  void step() {
    const auto p = static_cast<std::uint32_t>(random_.below(kPartitions));
    switch (random_.below(16)) {
      case 0:
      case 1:
      case 2:
        return append(p, 1 + random_.below(12));
      case 3:
      case 4:
      case 5:
        return deliver(1 + random_.below(10));
      case 6:
      case 7:
      case 8:
        return make_durable(random_.below(hand_.size() + 1));
      case 9:
      case 10:
        return commit();
      case 11:
        return tell("flush", {{"flush", true}});
      case 12:
        return lose(p);
      case 13:
        return trim(p);
      case 14:
        return disturb();
      default:
        tell("crash", {{"partitions", at(0)}});
        crash();
        return begin();
    }
  }

  void tell(const std::string& what, const nlohmann::json& command) {
    story_ += what + " ";
    server_.control(command);
  }

  void append(std::uint32_t partition, std::uint64_t count) {
    server_.append(partition, next_, static_cast<int>(count));
    next_ += static_cast<int>(count);
    story_ += "append" + std::to_string(partition) + "+" + std::to_string(count) + " ";
  }

  // The server is killed or ended; others may write, and what is in hand may become durable, before it is seen again.
  void lose(std::uint32_t partition) {
    tell("restart", {{"restart", random_.below(3) == 0 ? "term" : "kill"}});
    if (random_.below(2) == 0) append(partition, 1 + random_.below(30));
    if (random_.below(2) == 0) make_durable(hand_.size());
    if (random_.below(2) == 0) commit();
  }

  void trim(std::uint32_t partition) {
    const Held before = held(partition);
    if (before.empty()) return;
    const std::int64_t cut = before.begin()->first + static_cast<std::int64_t>(random_.below(before.size()));
    tell("trim" + std::to_string(partition) + "<" + std::to_string(cut), {{"trim", at(partition, {{"before", cut}})}});
    const Held after = held(partition);
    for (const auto& [offset, number] : before) {
      if (!after.contains(offset)) trimmed_[partition][offset] = number;
    }
  }

  // Another member comes or goes, or the server forgets us; or it does not answer a store.
  void disturb() {
    switch (random_.below(3)) {
      case 0:
        ghost_ = !ghost_;
        return tell(ghost_ ? "ghost" : "leave", {{ghost_ ? "ghost" : "leave", member()}});
      case 1:
        return tell("evict", {{"evict", {{"client", "all"}, {"reason", 13}}}});
      default:
        return tell("drop", {{"fault", {{"on", "store_offset"}, {"do", "drop"}, {"apply", random_.below(2) == 0}}}});
    }
  }

  void begin() {
    IggySourceOptions options = options_for(server_);
    options.on_position_lost = OnPositionLost::earliest;
    options.member = "one";
    options.batch_length = 7;
    options.connections = 1;
    checkpointer_ = std::make_unique<Checkpointer>();
    auto made = IggySource::make(options);
    ASSERT_TRUE(made) << made.error().message();
    source_ = *std::move(made);
    SourceContext context;
    context.pipeline = "model";
    context.acks = checkpointer_->issuer();
    context.log = Logger(log_, "source");
    ASSERT_TRUE(source_->open(context));
    for (int i = 0; i < 20 && lanes_.empty(); ++i) listen();
  }

  // What is in hand is gone, and nothing is said to anybody.
  void crash() {
    abandon();
    lanes_.clear();
    source_.reset();
    checkpointer_.reset();
  }

  void abandon() {
    for (Batch& batch : hand_) batch.ack.fail();
    hand_.clear();
  }

  void listen() {
    auto event = source_->poll_events(std::chrono::milliseconds(20));
    ASSERT_TRUE(event) << event.error().message();
    if (auto* assigned = std::get_if<LanesAssigned>(&*event)) {
      lanes_ = std::move(assigned->lanes);
      std::vector<PartitionId> partitions;
      for (const auto& lane : lanes_) partitions.push_back(lane->partition());
      checkpointer_->begin_epoch(partitions);
      story_ += "assigned" + std::to_string(lanes_.size()) + " ";
    }
    const auto* revoked = std::get_if<LanesRevoked>(&*event);
    if (revoked == nullptr) return;
    story_ += "revoked ";
    std::vector<PartitionId> partitions;
    for (const auto& lane : lanes_) partitions.push_back(lane->partition());
    lanes_.clear();
    make_durable(random_.below(hand_.size() + 1));
    abandon();
    commit();
    checkpointer_->revoke(partitions);
    source_->revoked(revoked->lanes);
  }

  void deliver(std::uint64_t most) {
    for (const auto& lane : lanes_) {
      auto polled = lane->poll(most, std::chrono::milliseconds(5));
      ASSERT_TRUE(polled) << polled.error().message();
      auto* batch = std::get_if<PayloadBatch>(&*polled);
      if (batch == nullptr) continue;
      Batch taken;
      for (const std::string_view payload : batch->payloads) taken.numbers.push_back(number_in(payload));
      story_ += "delivered" + std::to_string(lane->partition().value()) + ":" +
                std::to_string(batch->offsets.front().value()) + "-" + std::to_string(batch->offsets.back().value()) +
                " ";
      taken.ack = std::move(batch->ack);
      hand_.push_back(std::move(taken));
      if (batch->offsets.size() > 1 && random_.below(2) == 0) split(hand_.back(), batch->offsets);
    }
  }

  // As at the end of a file: a watermark may rest within what was delivered at once.
  void split(Batch& whole, std::span<const Offset> offsets) {
    const auto kept = static_cast<std::ptrdiff_t>(1 + random_.below(offsets.size() - 1));
    story_ += "split<" + std::to_string(offsets[static_cast<std::size_t>(kept)].value()) + " ";
    Batch rest;
    rest.numbers.assign(whole.numbers.begin() + kept, whole.numbers.end());
    whole.numbers.resize(static_cast<std::size_t>(kept));
    rest.ack = checkpointer_->issuer().split(whole.ack, offsets[static_cast<std::size_t>(kept) - 1]);
    hand_.push_back(std::move(rest));
  }

  // In any order: sinks finish as they please.
  void make_durable(std::uint64_t batches) {
    for (; batches > 0; --batches) {
      const auto chosen = hand_.begin() + static_cast<std::ptrdiff_t>(random_.below(hand_.size()));
      durable_.insert(chosen->numbers.begin(), chosen->numbers.end());
      hand_.erase(chosen);
    }
  }

  void commit() {
    checkpointer_->drain();
    const std::vector<PartitionWatermark> watermarks = checkpointer_->take_watermarks();
    for (const PartitionWatermark& one : watermarks) {
      story_ += "commit" + std::to_string(one.partition.value()) + "=" + std::to_string(one.watermark.value()) + " ";
    }
    ASSERT_TRUE(source_->commit(watermarks));
    if (random_.below(2) == 0) {
      static_cast<void>(source_->flush_commits_by(Clock::real().now() + std::chrono::milliseconds(300)));
    }
  }

  [[nodiscard]] Held held(std::uint32_t partition) {
    Held all;
    for (const auto& one : server_.control({{"messages", at(partition, {{"count", 1'000'000}})}})) {
      all[one["offset"].get<std::int64_t>()] = number_in(one["payload"].get<std::string>());
    }
    return all;
  }

  // Stored offsets move by themselves, messages by our steps only: so those come first.
  void check() {
    const std::vector<int> offsets = stored(server_);
    for (std::uint32_t p = 0; p < kPartitions; ++p) {
      for (const auto& [offset, number] : held(p)) {
        if (offset > offsets[p]) break;
        ASSERT_TRUE(durable_.contains(number))
            << "partition " << p << ": offset " << offsets[p] << " is stored, but message " << number << " at "
            << offset << " is not durable";
      }
    }
  }

  // Everything is well again: what the server has is read, to its end.
  void finish() {
    if (ghost_) tell("leave", {{"leave", member()}});
    tell("well", {{"clear_faults", true}});
    for (std::uint32_t p = 0; p < kPartitions; ++p) append(p, 2);
    read_to_the_end();
    check();
    for (std::uint32_t p = 0; p < kPartitions; ++p) look_for_words(p);
  }

  void read_to_the_end() {
    const auto done = [&] {
      listen();
      deliver(100);
      make_durable(hand_.size());
      commit();
      const std::vector<int> offsets = stored(server_);
      for (std::uint32_t p = 0; p < kPartitions; ++p) {
        if (offsets[p] != held(p).rbegin()->first) return false;
      }
      return true;
    };
    ASSERT_TRUE(testing::eventually(done)) << ::testing::PrintToString(stored(server_));
  }

  // Each stretch that was removed before it was read is spoken of, from where it was to be read to where it went on.
  void look_for_words(std::uint32_t partition) {
    std::optional<std::pair<std::int64_t, std::int64_t>> stretch;
    const auto said = [&] {
      if (!stretch) return;
      EXPECT_TRUE(is_said(partition, stretch->first, stretch->second))
          << "nothing is said of offsets " << stretch->first << " to " << stretch->second - 1 << " of partition "
          << partition << ", which were skipped";
      stretch.reset();
    };
    for (const auto& [offset, number] : trimmed_[partition]) {
      if (durable_.contains(number) || (stretch && stretch->second != offset)) said();
      if (durable_.contains(number)) continue;
      stretch = {stretch ? stretch->first : offset, offset + 1};
    }
    said();
  }

  // "partition 1: the kept position is FROM, but the broker holds offsets TO to 41"
  [[nodiscard]] bool is_said(std::uint32_t partition, std::int64_t from, std::int64_t to) const {
    const std::string place = "partition " + std::to_string(partition) + ": ";
    std::istringstream lines(log_->all());
    for (std::string line; std::getline(lines, line);) {
      if (const auto found = line.find(place); found != std::string::npos) {
        const auto said = numbers_in(std::string_view(line).substr(found + place.size()));
        if (said.size() >= 2 && said[0] <= from && said[1] >= to) return true;
      }
    }
    return false;
  }

  testing::SeededRandom random_;
  iggy_rig::FakeServer server_;
  const std::shared_ptr<Lines> log_ = std::make_shared<Lines>();
  std::string story_;

  int next_ = 0;  // number of the next message
  bool ghost_ = false;
  std::set<int> durable_;
  std::map<std::uint32_t, Held> trimmed_;

  std::unique_ptr<Checkpointer> checkpointer_;
  std::unique_ptr<Source> source_;
  std::vector<std::unique_ptr<SourceLane>> lanes_;
  std::vector<Batch> hand_;  // delivered and not durable; before what they answer to
};

class PositionsModel : public ::testing::TestWithParam<std::string> {};

// MILLRACE_SIMULATION_SEED repeats the choices of one, not what threads and server do meanwhile.
TEST_P(PositionsModel, INV1_NothingIsStoredAheadAndNothingIsSkippedUnsaid) {
  const char* const only = std::getenv("MILLRACE_SIMULATION_SEED");
  const std::uint64_t first = only != nullptr ? std::strtoull(only, nullptr, 10) : 1;
  for (std::uint64_t seed = first; seed < first + (only != nullptr ? 1 : 8); ++seed) {
    Simulation simulation(GetParam(), seed);
    simulation.run();
    ASSERT_FALSE(HasFailure()) << "MILLRACE_SIMULATION_SEED=" << seed << "\n" << simulation.story();
  }
}

INSTANTIATE_TEST_SUITE_P(Both, PositionsModel, ::testing::Values("classic", "vsr"),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace millrace::iggy_source
