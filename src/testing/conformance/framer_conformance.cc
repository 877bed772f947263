// SPDX-License-Identifier: Apache-2.0
#include "millrace/testing/framer_conformance.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "millrace/base/bytes.h"
#include "testing/conformance/check.h"

namespace millrace::conformance {
namespace {

constexpr std::size_t kMany = 1000;

/// What came of a stream, or of what was read of it until an error.
struct Framed {
  std::vector<std::string> frames;
  std::optional<Error> error;
  std::string wrong;  ///< what the framer did that no framer may
  friend bool same(const Framed& one, const Framed& other) {
    return one.frames == other.frames && one.error.has_value() == other.error.has_value() &&
           (!one.error || one.error->code() == other.error->code());
  }
};

/// Feeds a stream in windows that end at `cuts`, as a FrameReader would: the rest comes again, followed by more.
class Feeder {
 public:
  Feeder(Framer& framer, std::size_t max_frames) : framer_(framer), max_frames_(max_frames) {}

  Framed feed(std::string_view bytes, const std::vector<std::size_t>& cuts) {
    Framed out;
    std::string window;
    std::size_t from = 0;
    for (std::size_t i = 0; i <= cuts.size(); ++i) {
      const std::size_t to = i < cuts.size() ? cuts[i] : bytes.size();
      window.append(bytes.substr(from, to - from));
      from = to;
      if (!drain(window, i == cuts.size(), out)) break;
    }
    return out;
  }

 private:
  // Frames what is in the window. False when the stream is over.
  bool drain(std::string& window, bool end, Framed& out) {
    for (std::size_t calls = 0;; ++calls) {
      if (calls > 4 * kMany + 4 * window.size()) {
        out.wrong = "frame() neither consumes nor ends: it would be called for ever";
        return false;
      }
      // In memory of its own size, so that a look behind the padding is seen.
      std::string shown = window + std::string(kBytePadding, '\0');
      Frames frames;
      const Result<std::size_t> done =
          framer_.frame(std::string_view(shown).substr(0, window.size()), end, max_frames_, frames);
      if (!note(shown, window.size(), done, frames, out)) return false;
      const bool was_empty = window.empty();
      window.erase(0, *done);
      if (end ? was_empty : *done == 0 && frames.empty()) return !end;
    }
  }
  bool note(const std::string& shown, std::size_t size, const Result<std::size_t>& done, const Frames& frames,
            Framed& out) const {
    if (frames.size() > max_frames_) {
      out.wrong = fmt::format("a call for at most {} frames gave {}", max_frames_, frames.size());
    }
    if (!done) {
      out.error = done.error();
      return false;
    }
    if (*done > size) {
      out.wrong = fmt::format("{} bytes of a window of {} are said to be done with", *done, size);
      return false;
    }
    for (const std::string_view frame : frames) {
      if (frame.data() < shown.data() || frame.data() + frame.size() > shown.data() + *done) {
        out.wrong = "a frame does not lie within the bytes of the window that are done with";
        return false;
      }
      out.frames.emplace_back(frame);
    }
    return true;
  }

  Framer& framer_;
  const std::size_t max_frames_;
};

struct FramerCase {
  FramerMaker factory;
  FramerSamples samples;

  [[nodiscard]] std::unique_ptr<Framer> make(std::size_t max_record_bytes = 1U << 20U) const {
    FramerOptions options;
    options.max_record_bytes = max_record_bytes;
    return factory(options);
  }
  [[nodiscard]] Framed feed(std::string_view bytes, const std::vector<std::size_t>& cuts = {},
                            std::size_t max_frames = kMany) const {
    const std::unique_ptr<Framer> framer = make();
    return Feeder(*framer, max_frames).feed(bytes, cuts);
  }
  [[nodiscard]] std::vector<std::string> streams() const {
    std::vector<std::string> all;
    for (const FramerSample& sample : samples.good) all.push_back(sample.bytes);
    all.insert(all.end(), samples.bad.begin(), samples.bad.end());
    return all;
  }
};

std::string describe(const Framed& framed) {
  return fmt::format("{} frames{}", framed.frames.size(), framed.error ? " and " + framed.error->message() : "");
}

Outcome good_streams_are_framed(const FramerCase& test) {
  for (const FramerSample& sample : test.samples.good) {
    const Framed framed = test.feed(sample.bytes);
    if (!framed.wrong.empty()) return not_tried(framed.wrong);
    if (framed.error)
      return broken(fmt::format("a good stream of {} bytes: {}", sample.bytes.size(), framed.error->message()));
    if (sample.frames && framed.frames != *sample.frames) {
      return broken(fmt::format("a stream of {} bytes gives {} frames, or others, where {} were expected",
                                sample.bytes.size(), framed.frames.size(), sample.frames->size()));
    }
  }
  return kept();
}

Outcome bad_streams_are_refused(const FramerCase& test) {
  if (test.samples.bad.empty()) return not_applicable("the format refuses nothing");
  for (const std::string& bytes : test.samples.bad) {
    const Framed framed = test.feed(bytes);
    if (!framed.wrong.empty()) return not_tried(framed.wrong);
    if (!framed.error) return broken(fmt::format("a bad stream of {} bytes is taken", bytes.size()));
  }
  return kept();
}

// Every cut into two, and every byte by itself.
Outcome any_cut_gives_the_same(const FramerCase& test) {
  for (const std::string& bytes : test.streams()) {
    const Framed whole = test.feed(bytes);
    std::vector<std::size_t> each;
    for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
      each.push_back(cut);
      if (const Framed framed = test.feed(bytes, {cut}); !same(framed, whole)) {
        return broken(fmt::format("a stream of {} bytes gives {} in one window, and {} when it is cut at byte {}",
                                  bytes.size(), describe(whole), describe(framed), cut));
      }
    }
    if (const Framed framed = test.feed(bytes, each); !same(framed, whole)) {
      return broken(fmt::format("a stream of {} bytes gives {} in one window, and {} byte by byte", bytes.size(),
                                describe(whole), describe(framed)));
    }
  }
  return kept();
}

Outcome max_frames_is_kept(const FramerCase& test) {
  for (const std::string& bytes : test.streams()) {
    const Framed whole = test.feed(bytes);
    const Framed framed = test.feed(bytes, {}, 1);
    if (framed.wrong.starts_with("a call for at most")) return broken(framed.wrong);
    if (framed.wrong.empty() && !same(framed, whole)) {
      return broken(fmt::format("a stream of {} bytes gives {} at once, and {} one by one", bytes.size(),
                                describe(whole), describe(framed)));
    }
  }
  return kept();
}

Outcome frames_lie_in_the_window(const FramerCase& test) {
  for (const std::string& bytes : test.streams()) {
    const Framed framed = test.feed(bytes);
    if (!framed.wrong.empty()) return broken(framed.wrong);
  }
  return kept();
}

Outcome reset_begins_anew(const FramerCase& test) {
  for (const std::string& bytes : test.streams()) {
    const Framed fresh = test.feed(bytes);
    const std::unique_ptr<Framer> framer = test.make();
    for (std::size_t left = 0; left <= bytes.size(); ++left) {
      // Left in the midst of a stream, and with a rest that it has searched.
      const std::string_view part = std::string_view(bytes).substr(0, left);
      const std::string shown = std::string(part) + std::string(kBytePadding, '\0');
      Frames frames;
      std::ignore = framer->frame(std::string_view(shown).substr(0, left), false, kMany, frames);
      framer->reset();
      const Framed again = Feeder(*framer, kMany).feed(bytes, {});
      framer->reset();
      if (!same(again, fresh)) {
        return broken(fmt::format("after {} bytes of a stream and a reset() it gives {}, a fresh framer {}", left,
                                  describe(again), describe(fresh)));
      }
    }
  }
  return kept();
}

Outcome error_comes_again(const FramerCase& test) {
  if (test.samples.bad.empty()) return not_applicable("the format refuses nothing");
  for (const std::string& bytes : test.samples.bad) {
    const std::unique_ptr<Framer> framer = test.make();
    std::string shown = bytes + std::string(kBytePadding, '\0');
    std::string_view window = std::string_view(shown).substr(0, bytes.size());
    std::optional<Error> error;
    for (std::size_t calls = 0; !error && calls < kMany; ++calls) {
      Frames frames;
      const Result<std::size_t> done = framer->frame(window, true, kMany, frames);
      if (!done) {
        error = done.error();
      } else {
        window.remove_prefix(std::min(*done, window.size()));
      }
    }
    if (!error) return not_tried("a bad stream is taken");
    Frames frames;
    const Result<std::size_t> again = framer->frame(window, true, kMany, frames);
    if (again || again.error().code() != error->code()) {
      return broken(fmt::format("{}; and when the call is repeated, {}", error->message(),
                                again ? "it succeeds" : again.error().message()));
    }
    if (framer->position() == 0) return broken("position() of an error counts from 1");
  }
  return kept();
}

Outcome too_long_is_refused_early(const FramerCase& test) {
  if (!test.samples.long_record) return not_applicable("the format has no bound");
  constexpr std::size_t kLimit = 64;
  const std::string bytes = test.samples.long_record(4 * kLimit);
  const std::unique_ptr<Framer> framer = test.make(kLimit);
  std::string window;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    window += bytes[i];
    const std::string shown = window + std::string(kBytePadding, '\0');
    Frames frames;
    const Result<std::size_t> done =
        framer->frame(std::string_view(shown).substr(0, window.size()), false, kMany, frames);
    if (!done) {
      if (done.error().code() == ErrorCode::too_large) return kept();
      return broken("a record over the limit is refused as too_large; this one as " +
                    std::string(to_string(done.error().code())));
    }
    if (!frames.empty()) {
      if (frames.front().size() <= kLimit) return not_tried("the long record is given in parts");
      return broken(fmt::format("a record of {} bytes is given where {} are allowed", frames.front().size(), kLimit));
    }
    window.erase(0, *done);
  }
  return broken(fmt::format("{} bytes of one record are waited for where {} are allowed", bytes.size(), kLimit));
}

constexpr Check<FramerCase> kChecks[] = {
    {"good_streams_are_framed", "a good stream gives its records and no error", good_streams_are_framed},
    {"bad_streams_are_refused", "a bad stream gives an error somewhere", bad_streams_are_refused},
    {"any_cut_gives_the_same", "the frames, and the error, are the same however the stream is cut",
     any_cut_gives_the_same},
    {"max_frames_is_kept", "a call gives at most as many frames as asked for, and the rest comes with the next",
     max_frames_is_kept},
    {"frames_lie_in_the_window", "frames are views of the part of the window that is done with, and calls make headway",
     frames_lie_in_the_window},
    {"reset_begins_anew", "after reset() nothing is left of the stream before", reset_begins_anew},
    {"error_comes_again", "an error consumes nothing, and comes again when the call is repeated", error_comes_again},
    {"too_long_is_refused_early", "a record over max_record_bytes is too_large before it is whole",
     too_long_is_refused_early},
};

}  // namespace

std::vector<Rule> framer_rules(FramerMaker factory, FramerSamples samples) {
  std::vector<Rule> rules;
  add_rules(rules, std::span<const Check<FramerCase>>(kChecks),
            [factory, samples] { return FramerCase{factory, samples}; });
  return rules;
}

}  // namespace millrace::conformance
