// SPDX-License-Identifier: Apache-2.0
// Goal: the suite of sources notices each broken rule, and blames no other. Method: one source for each rule that
// breaks it and nothing else; the report names exactly that rule.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/conformance/wrong_source.h"

namespace millrace::conformance {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Broken {
  WrongSource wrong;
  const char* rule;
  bool ends = false;
};

class BrokenSource : public ::testing::TestWithParam<Broken> {};

// Short, as broken rules are waited for; a kept one of these sources takes no time at all.
const SourceOptions kShort{.idle_timeout = std::chrono::milliseconds(4),
                           .patience = std::chrono::seconds(2),
                           .prompt = std::chrono::milliseconds(100)};

TEST_P(BrokenSource, IsNamed) {
  const Broken& broken = GetParam();
  const Report report = source([&] { return wrong_source(broken.wrong, broken.ends); }, kShort);
  EXPECT_THAT(report.rules(Verdict::broken), ElementsAre(broken.rule)) << report.to_text();
}

INSTANTIATE_TEST_SUITE_P(OneRuleEach, BrokenSource,
                         ::testing::Values(Broken{WrongSource::answers_change_at_open, "open_comes_first"},
                                           Broken{WrongSource::loses_last_record, "gives_records", true},
                                           Broken{WrongSource::assigns_a_delta, "whole_assignment"},
                                           Broken{WrongSource::hands_a_lane_out_twice, "lane_handed_out_once"},
                                           Broken{WrongSource::blocks_for_events, "poll_events_does_not_block"},
                                           Broken{WrongSource::forgets_at_a_pause, "pause_loses_nothing"},
                                           Broken{WrongSource::never_finishes, "ends_and_says_so", true},
                                           Broken{WrongSource::ends_at_a_failure, "failure_is_told", true},
                                           Broken{WrongSource::spins, "idle_lane_blocks"},
                                           Broken{WrongSource::wakes_nobody, "waker_wakes"},
                                           Broken{WrongSource::gives_too_many, "batch_within_bounds"},
                                           Broken{WrongSource::offsets_go_back, "offsets_rise"},
                                           Broken{WrongSource::lends_shared_memory, "payloads_live_until_next_poll"},
                                           Broken{WrongSource::acks_one_too_far, "one_ack_per_batch"},
                                           Broken{WrongSource::keeps_an_ack, "acks_are_let_go"},
                                           Broken{WrongSource::issues_before_the_epoch, "stale_ack_moves_nothing"},
                                           Broken{WrongSource::commits_before_the_barrier, "commit_after_barrier"},
                                           Broken{WrongSource::goes_on_where_it_read, "revocation_in_flight"},
                                           Broken{WrongSource::keeps_last_instead_of_next, "commit_stored_as_it_is"},
                                           Broken{WrongSource::commits_what_is_read, "nothing_committed_early"},
                                           Broken{WrongSource::swallows_a_failed_commit, "failed_commit_is_told"},
                                           Broken{WrongSource::begins_anew, "replays_from_commit"},
                                           Broken{WrongSource::tells_runs_apart, "same_record_same_offset"}),
                         [](const auto& broken) { return std::string(broken.param.rule); });

// The same source without a fault keeps all, and every rule is tried, over both kinds.
TEST(SourceSuite, TriesEveryRule) {
  const Report endless = source([] { return wrong_source(WrongSource::none, false); });
  EXPECT_THAT(endless.rules(Verdict::broken), IsEmpty()) << endless.to_text();
  EXPECT_THAT(endless.rules(Verdict::not_applicable), ElementsAre("ends_and_says_so")) << endless.to_text();
  const Report ending = source([] { return wrong_source(WrongSource::none, true); });
  EXPECT_THAT(ending.rules(Verdict::broken), IsEmpty()) << ending.to_text();
  EXPECT_THAT(ending.rules(Verdict::kept), ::testing::Contains("ends_and_says_so")) << ending.to_text();
}

}  // namespace
}  // namespace millrace::conformance
