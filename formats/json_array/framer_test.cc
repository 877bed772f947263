// SPDX-License-Identifier: Apache-2.0
// Goal: the elements of an array, however its bytes are cut, and a plain word about everything that is no array.
// Method: arrays put together from known elements, cut at every pair of places; random text compared with what Python's
// json says of it; each refusal by hand.
#include "formats/json_array/framer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "decode/strict_json.h"
#include "formats/json_array/array_model.h"
#include "framing/framer_testing.h"
#include "millrace/framing/frame_reader.h"

namespace millrace::json_array {
namespace {

using Records = std::vector<std::string>;

framing::FramedStream framed(const std::string& stream, const std::vector<std::size_t>& cuts = {},
                             std::size_t max_frames = 1000, std::size_t max_record_bytes = 1U << 20U) {
  JsonArrayFramer framer(FramerOptions{.max_record_bytes = max_record_bytes});
  return framing::frame_in_pieces(framer, stream, cuts, max_frames, ']');
}

const std::vector<std::string>& known_elements() {
  static const std::vector<std::string> all{"1",
                                            "-0.5e+7",
                                            "true",
                                            "null",
                                            "\"\"",
                                            "\"a,]\"",
                                            "\"\\\"\"",
                                            "\"\\\\\"",
                                            "\"\\\\\\\",[\"",
                                            "{}",
                                            "[]",
                                            "[1,[2]]",
                                            "{\"a\":{\"b\":[1,2]}}",
                                            "{\"}\":\"]\"}",
                                            "{\"\\\"\":\"\\\\\"}",
                                            "{ \"n\" :\n1 }",
                                            "\"\xC3\xA9\""};
  return all;
}

std::string blanks() { return *rc::gen::element<std::string>("", "", "", " ", "\n", "\r\n\t"); }

std::pair<std::string, Records> any_array(int most) {
  const auto elements = *rc::gen::resize(most, rc::gen::container<Records>(rc::gen::elementOf(known_elements())));
  std::string text = *rc::gen::element<std::string>("", "", "\xEF\xBB\xBF") + blanks() + "[" + blanks();
  for (std::size_t i = 0; i < elements.size(); ++i) {
    text += (i == 0 ? "" : ",") + blanks() + elements[i] + blanks();
  }
  return {text + "]" + blanks(), elements};
}

TEST(JsonArrayFramer, AllCutsOfSmallArraysGiveTheSameElements) {
  EXPECT_TRUE(rc::check("every pair of cuts", [] {
    const auto [stream, expected] = any_array(4);
    const auto max_frames = *rc::gen::element<std::size_t>(1, 2, 100);
    for (std::size_t a = 0; a <= stream.size(); ++a) {
      for (std::size_t b = a; b <= stream.size(); ++b) {
        const auto got = framed(stream, {a, b}, max_frames);
        RC_ASSERT(!got.error);
        RC_ASSERT(got.records == expected);
      }
    }
  }));
}

TEST(JsonArrayFramer, OneByteWindowsGiveTheSameElements) {
  EXPECT_TRUE(rc::check("a cut after each byte", [] {
    const auto [stream, expected] = any_array(40);
    const auto got = framed(stream, framing::every_cut(stream), *rc::gen::element<std::size_t>(1, 3, 100));
    RC_ASSERT(!got.error);
    RC_ASSERT(got.records == expected);
  }));
}

// A beginning of an array gives what is whole in it, then the one error, wherever it was cut before.
TEST(JsonArrayFramer, D04_EveryBeginningIsTruncatedWhateverTheCuts) {
  EXPECT_TRUE(rc::check("cut off", [] {
    const auto [whole, elements] = any_array(4);
    const std::size_t from = whole.find('[') + 1;
    const std::size_t end = whole.rfind(']');
    const auto size = *rc::gen::inRange(from, end + 1);
    const std::string stream = whole.substr(0, size);
    const auto in_one = framed(stream);
    RC_ASSERT(in_one.error.has_value());
    RC_ASSERT(in_one.error->code() == ErrorCode::truncated);
    RC_ASSERT(in_one.records.size() <= elements.size());
    RC_ASSERT(std::equal(in_one.records.begin(), in_one.records.end(), elements.begin()));
    for (std::size_t cut = 0; cut <= size; ++cut) {
      const auto got = framed(stream, {cut}, *rc::gen::element<std::size_t>(1, 100));
      RC_ASSERT(got.records == in_one.records);
      RC_ASSERT(got.error.has_value());
      RC_ASSERT(got.error->message() == in_one.error->message());
      RC_ASSERT(got.position == in_one.position);
    }
  }));
}

// The same through the reader, which hands out the last elements together with the end of the object: an array cut
// behind an element is not taken for a whole one.
TEST(JsonArrayFramer, D04_TheReaderTakesNoBeginningForTheWhole) {
  EXPECT_TRUE(rc::check("cut off, in chunks", [] {
    const auto [whole, elements] = any_array(4);
    const std::size_t from = whole.find('[') + 1;
    const std::size_t end = whole.rfind(']') + 1;
    const auto size = *rc::gen::inRange(from, whole.size() + 1);
    const auto chunk = *rc::gen::element<std::size_t>(1, 3, 1000);
    const auto most = *rc::gen::element<std::size_t>(1, 2, 100);
    FrameReader reader(make_json_array_framer({}));
    reader.start(nullptr);
    Records records;
    std::optional<Error> error;
    bool said_finished = false;
    for (std::size_t at = 0; !error;) {
      Frames frames;
      const auto status = reader.next(most, frames);
      for (const std::string_view frame : frames) records.emplace_back(frame);
      if (!status) {
        error = status.error();
      } else if (*status == FrameReader::Status::end) {
        break;
      } else if (*status == FrameReader::Status::needs_chunk) {
        const std::string_view bytes = std::string_view(whole).substr(at, std::min(chunk, size - at));
        ByteChunk piece = ByteChunk::allocate(bytes.size());
        std::copy(bytes.begin(), bytes.end(), piece.data());
        piece.set_size(bytes.size());
        at += bytes.size();
        reader.push(std::move(piece), at == size);
      } else {
        said_finished = said_finished || reader.finished();
      }
    }
    RC_ASSERT(error.has_value() == (size < end));
    if (size >= end) {
      RC_ASSERT(records == elements);
      return;
    }
    RC_ASSERT(error->code() == ErrorCode::truncated);
    RC_ASSERT(!said_finished);
    RC_ASSERT(records == framed(whole.substr(0, size)).records);
  }));
}

/// For each text, its elements as Python spells them, or nothing where Python refuses it.
std::vector<std::optional<Records>> by_python(const std::vector<std::string>& texts) {
  std::string pattern = (std::filesystem::temp_directory_path() / "millrace-XXXXXX").string();
  const std::filesystem::path folder = ::mkdtemp(pattern.data());
  {
    std::ofstream in(folder / "in");
    for (const std::string& text : texts) {
      for (const char byte : text) in << fmt::format("{:02x}", static_cast<unsigned char>(byte));
      in << '\n';
    }
  }
  const std::string command =
      fmt::format("python3 {} < {} > {}", MILLRACE_ELEMENTS_PY, (folder / "in").string(), (folder / "out").string());
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  std::vector<std::optional<Records>> answers;
  std::ifstream out(folder / "out");
  for (std::string line; std::getline(out, line);) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    answers.emplace_back();
    if (word != "elements") continue;
    answers.back().emplace();
    while (words >> word) {
      std::string& element = answers.back()->emplace_back();
      for (std::size_t i = 0; i < word.size(); i += 2) {
        element += static_cast<char>(std::stoi(word.substr(i, 2), nullptr, 16));
      }
    }
  }
  std::filesystem::remove_all(folder);
  return answers;
}

// Sound arrays and damaged ones: where Python sees an array the framer gives its elements; where Python sees none the
// framer says so, or an element that it cut is no JSON.
TEST(JsonArrayFramer, AgreesWithPython) {
  std::mt19937 random(5);  // the same texts each time
  const auto any = [&](std::size_t count) { return static_cast<std::size_t>(random()) % count; };
  std::vector<std::string> texts;
  for (int i = 0; i < 2000; ++i) {
    std::string text = "[";
    const std::size_t count = any(6);
    for (std::size_t k = 0; k < count; ++k)
      text += (k == 0 ? "" : ", ") + known_elements()[any(known_elements().size())];
    text += "]\n";
    for (std::size_t damage = any(3); damage != 0; --damage) {
      constexpr std::string_view kBytes = "[]{},\"\\ 1x:";
      const std::size_t at = any(text.size());
      const char byte = kBytes[any(kBytes.size())];
      switch (any(3)) {
        case 0:
          text[at] = byte;
          break;
        case 1:
          text.insert(at, 1, byte);
          break;
        default:
          text.erase(at, 1);
      }
    }
    texts.push_back(text);
  }
  const auto answers = by_python(texts);
  ASSERT_EQ(answers.size(), texts.size());
  std::size_t sound = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto got = framed(texts[i], {any(texts[i].size() + 1)}, 2);
    if (answers[i]) {
      ++sound;
      EXPECT_FALSE(got.error) << texts[i] << got.error->message();
      EXPECT_EQ(got.records, *answers[i]) << texts[i];
      EXPECT_EQ(model_of_array(texts[i]), *answers[i]) << texts[i];
    } else if (!got.error && texts[i].find_first_not_of(" \n") != std::string::npos) {
      EXPECT_TRUE(std::ranges::any_of(got.records, [](const auto& element) {
        return !StrictJson(element).is_document();
      })) << texts[i];
    }
  }
  EXPECT_GT(sound, 600U);
  EXPECT_LT(sound, 1600U);
}

TEST(JsonArrayFramer, NothingIsNoRecordAndAByteOrderMarkIsSkipped) {
  for (const std::string stream : {"", " \n\t\r\n", "[]", "[ ]", "\n[\n]\n", "\xEF\xBB\xBF", "\xEF\xBB\xBF [] "}) {
    const auto got = framed(stream);
    EXPECT_FALSE(got.error) << stream;
    EXPECT_EQ(got.records, Records{}) << stream;
  }
  EXPECT_EQ(framed("\xEF\xBB\xBF[1]").records, Records{"1"});
  EXPECT_TRUE(framed(" \xEF\xBB\xBF[1]").error);
}

struct Refusal {
  const char* stream;
  Records before;
  std::uint64_t position;
  ErrorCode code;
  const char* message;
};

TEST(JsonArrayFramer, C12_WhatIsWrongIsToldWithTheElementAndTheWayOut) {
  const Refusal refusals[] = {
      {"{\"n\":1}\n{\"n\":2}\n",
       {},
       1,
       ErrorCode::malformed,
       "not a JSON array: it begins with '{', not with '['; this looks like NDJSON, which format: ndjson reads, a "
       "document a line; one document alone is read by format: raw"},
      {"a,b\n1,2\n",
       {},
       1,
       ErrorCode::malformed,
       "not a JSON array: it begins with 'a', not with '['; choose the format that these objects have"},
      {"[1, 2, ]",
       {"1", "2"},
       3,
       ErrorCode::malformed,
       "element 3 of the array: expected a value behind the comma, found ']'; JSON allows no comma before the closing "
       "bracket"},
      {"[,1]", {}, 1, ErrorCode::malformed, "element 1 of the array: expected a value, found ','"},
      {"[1,,2]", {"1"}, 2, ErrorCode::malformed, "element 2 of the array: expected a value, found ','"},
      {"[1,\x07]", {"1"}, 2, ErrorCode::malformed, "element 2 of the array: expected a value, found '\\x07'"},
      {"[{}\n{}]",
       {"{}"},
       2,
       ErrorCode::malformed,
       "behind element 1 of the array: expected ',' or ']', found '{'; elements are separated by commas"},
      {"[1 2]", {"1"}, 2, ErrorCode::malformed, "behind element 1 of the array: expected ',' or ']', found '2'"},
      {"[1}", {"1"}, 2, ErrorCode::malformed, "behind element 1 of the array: expected ',' or ']', found '}'"},
      {"[1,{\"a\":1],2]", {"1"}, 2, ErrorCode::malformed, "element 2 of the array begins with '{' and ends with ']'"},
      {"[1]\n[2]\n",
       {"1"},
       2,
       ErrorCode::malformed,
       "behind the closing bracket of the array, which has 1 elements: expected nothing, found '['; an object holds "
       "one "
       "array; where there is an array a line, choose format: ndjson and decode.json.framing: array"},
      {"[1] ;",
       {"1"},
       2,
       ErrorCode::malformed,
       "behind the closing bracket of the array, which has 1 elements: expected nothing, found ';'; remove what stands "
       "there"},
      {"[", {}, 1, ErrorCode::truncated, "the array is not closed: the object ends behind its opening bracket"},
      {"[1, 2", {"1"}, 2, ErrorCode::truncated, "the array is not closed: the object ends inside element 2"},
      {"[1, {\"a\": \"]}", {"1"}, 2, ErrorCode::truncated, "the array is not closed: the object ends inside element 2"},
      {"[1, \"\\\"]", {"1"}, 2, ErrorCode::truncated, "the array is not closed: the object ends inside element 2"},
      {"[1,2 \n", {"1", "2"}, 3, ErrorCode::truncated, "the array is not closed: the object ends behind element 2"},
      {"[1,", {"1"}, 2, ErrorCode::truncated, "the array is not closed: the object ends behind element 1"},
  };
  for (const Refusal& refusal : refusals) {
    const std::string stream = refusal.stream;
    for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
      const auto got = framed(stream, {cut}, 1 + cut % 3);
      EXPECT_EQ(got.records, refusal.before) << stream;
      ASSERT_TRUE(got.error) << stream;
      EXPECT_TRUE(got.error->is_fatal());
      EXPECT_EQ(got.error->code(), refusal.code) << stream;
      EXPECT_EQ(got.error->message(), refusal.message) << stream;
      EXPECT_EQ(got.position, refusal.position) << stream;
    }
  }
}

TEST(JsonArrayFramer, C05_AnElementAtTheLimitPassesAndOneByteMoreIsRefusedBeforeItIsWhole) {
  const std::string at_limit = "{\"k\":\"" + std::string(92, 'x') + "\"}";
  ASSERT_EQ(at_limit.size(), 100U);
  EXPECT_EQ(framed("[1," + at_limit + "]", {}, 10, 100).records, (Records{"1", at_limit}));
  for (const std::string& longer : {"[1, " + std::string(101, '9') + "]", "[1,\"" + std::string(99, 'x') + "\"]",
                                    "[1,[" + std::string(99, ' ') + "]]"}) {
    const auto got = framed(longer, {}, 10, 100);
    EXPECT_EQ(got.records, Records{"1"});
    ASSERT_TRUE(got.error) << longer;
    EXPECT_EQ(got.error->code(), ErrorCode::too_large);
    EXPECT_EQ(got.error->message(),
              "element 2 of the array is longer than max_record_bytes: 101 bytes, limit 100; raise max_record_bytes, "
              "or check that the elements of the outermost array are the records");
  }
  JsonArrayFramer framer(FramerOptions{.max_record_bytes = 100});
  const std::string window = "[{\"k\":\"" + std::string(5000, 'x');
  const std::string padded = window + std::string(kBytePadding, '"');
  Frames frames;
  const auto refused = framer.frame({padded.data(), window.size()}, false, 10, frames);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("at least "), std::string::npos);
}

// A compressed object can hold gigabytes of blanks: wherever they stand they are consumed window by window.
TEST(JsonArrayFramer, C05_BlanksAreNotGatheredWhereverTheyStand) {
  constexpr std::size_t kBlanks = 5000;
  for (const char* const before : {"", "\xEF\xBB\xBF", "[", "[1", "[1,", "[1]"}) {
    JsonArrayFramer framer(FramerOptions{.max_record_bytes = 100});
    const std::string window = before + std::string(kBlanks, ' ') + std::string(kBytePadding, ' ');
    Frames frames;
    std::size_t consumed = 0;
    while (consumed < window.size() - kBytePadding) {
      frames.clear();
      const auto more =
          framer.frame({window.data() + consumed, window.size() - kBytePadding - consumed}, false, 10, frames);
      ASSERT_TRUE(more) << before;
      ASSERT_GT(*more, 0U) << before;
      consumed += *more;
    }
  }
}

TEST(JsonArrayFramer, ResetBeginsAnotherArray) {
  JsonArrayFramer framer(FramerOptions{});
  EXPECT_TRUE(framing::frame_in_pieces(framer, "[1,{\"a\":\"", {}, 10).error);
  framer.reset();
  EXPECT_EQ(framing::frame_in_pieces(framer, "[2]", {}, 10).records, Records{"2"});
  EXPECT_EQ(framer.position(), 2U);
}

}  // namespace
}  // namespace millrace::json_array
