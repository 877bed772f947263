// SPDX-License-Identifier: Apache-2.0
// Goal: the suite of framers notices each broken rule, and blames no other. Method: one framer for each, of records
// that end with a semicolon and hold no exclamation mark.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "millrace/testing/framer_conformance.h"

namespace millrace::conformance {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

enum class Wrong {
  none,
  loses_the_last,
  takes_bad_ones,
  ends_records_at_windows,
  ignores_the_bound,
  copies_frames,
  forgets_to_forget,
  errors_once,
  buffers_long_ones,
};

class WrongFramer final : public Framer {
 public:
  WrongFramer(Wrong wrong, std::size_t limit) : wrong_(wrong), limit_(limit) {}

  Result<std::size_t> frame(std::string_view window, bool end, std::size_t max_frames, Frames& frames) override {
    std::size_t done = 0;
    if (left_over_) return fail(Error::fatal(ErrorCode::malformed, "what was before is still here"));
    if (wrong_ == Wrong::ignores_the_bound) max_frames = std::max<std::size_t>(max_frames, 2);
    for (std::size_t count = 0; count < max_frames; ++count) {
      const std::string_view rest = window.substr(done);
      const std::size_t stop = rest.find(';');
      const std::string_view record = rest.substr(0, stop);
      if (record.find('!') != std::string_view::npos && wrong_ != Wrong::takes_bad_ones) {
        if (count != 0) break;
        if (wrong_ == Wrong::errors_once && std::exchange(told_, true)) return window.size();
        return fail(Error::fatal(ErrorCode::malformed, "a record holds an exclamation mark"));
      }
      if (record.size() > limit_ && wrong_ != Wrong::buffers_long_ones) {
        return fail(Error::fatal(ErrorCode::too_large, "a record is too long"));
      }
      if (stop == std::string_view::npos) {
        const bool ends = end || (wrong_ == Wrong::ends_records_at_windows && rest.size() > 3);
        if (!ends || rest.empty()) break;
        if (wrong_ != Wrong::loses_the_last) give(rest, frames);
        done = window.size();
        break;
      }
      give(record, frames);
      done += stop + 1;
    }
    soiled_ = true;
    return done;
  }
  void reset() override {
    records_ = 0;
    told_ = false;
    left_over_ = wrong_ == Wrong::forgets_to_forget && soiled_;
  }
  std::uint64_t position() const override { return records_ + 1; }

 private:
  void give(std::string_view record, Frames& frames) {
    ++records_;
    if (wrong_ == Wrong::copies_frames) record = copy_.assign(record);
    frames.push_back(record);
  }

  const Wrong wrong_;
  const std::size_t limit_;
  std::uint64_t records_ = 0;
  bool soiled_ = false;
  bool left_over_ = false;
  bool told_ = false;
  std::string copy_;
};

FramerMaker wrong_framer(Wrong wrong) {
  return
      [wrong](const FramerOptions& options) { return std::make_unique<WrongFramer>(wrong, options.max_record_bytes); };
}

FramerSamples samples() {
  FramerSamples made;
  made.good = {{"one;two;three;last", {{"one", "two", "three", "last"}}}, {"", {std::vector<std::string>()}}};
  made.bad = {"one;t!wo;three;"};
  made.long_record = [](std::size_t bytes) { return std::string(bytes, 'a') + ";"; };
  return made;
}

struct Broken {
  Wrong wrong;
  const char* rule;
};

class BrokenFramer : public ::testing::TestWithParam<Broken> {};

TEST_P(BrokenFramer, IsNamed) {
  const Report report = framer(wrong_framer(GetParam().wrong), samples());
  EXPECT_THAT(report.rules(Verdict::broken), ElementsAre(GetParam().rule)) << report.to_text();
}

INSTANTIATE_TEST_SUITE_P(OneRuleEach, BrokenFramer,
                         ::testing::Values(Broken{Wrong::loses_the_last, "good_streams_are_framed"},
                                           Broken{Wrong::takes_bad_ones, "bad_streams_are_refused"},
                                           Broken{Wrong::ends_records_at_windows, "any_cut_gives_the_same"},
                                           Broken{Wrong::ignores_the_bound, "max_frames_is_kept"},
                                           Broken{Wrong::copies_frames, "frames_lie_in_the_window"},
                                           Broken{Wrong::forgets_to_forget, "reset_begins_anew"},
                                           Broken{Wrong::errors_once, "error_comes_again"},
                                           Broken{Wrong::buffers_long_ones, "too_long_is_refused_early"}),
                         [](const auto& broken) { return std::string(broken.param.rule); });

TEST(FramerSuite, TriesEveryRule) {
  const Report report = framer(wrong_framer(Wrong::none), samples());
  EXPECT_THAT(report.rules(Verdict::broken), IsEmpty()) << report.to_text();
  EXPECT_THAT(report.rules(Verdict::not_applicable), IsEmpty()) << report.to_text();
}

}  // namespace
}  // namespace millrace::conformance
