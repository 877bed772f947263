// SPDX-License-Identifier: Apache-2.0
// Goal: the records of CSV are those that other tools see. Method: random texts of every byte that matters, framed and
// read, against Python's csv (strict, and lenient for where rows end) written by Python's json; a file as spreadsheets
// write them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "formats/csv/framer.h"
#include "framing/framer_testing.h"
#include "millrace/decode/csv.h"

namespace millrace::csv {
namespace {

using Records = std::vector<std::string>;

struct Text {
  char delimiter = ',';
  std::string bytes;
};

struct Answer {
  long rows = 0;                   ///< header included, of the lenient reader; -1: even that refused
  std::optional<Records> records;  ///< of the strict one; nothing where it refused
};

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return out;
}

std::vector<Answer> by_python(const std::vector<Text>& texts) {
  std::string pattern = (std::filesystem::temp_directory_path() / "millrace-XXXXXX").string();
  const std::filesystem::path folder = ::mkdtemp(pattern.data());
  {
    std::ofstream in(folder / "in");
    for (const Text& text : texts) in << hex({&text.delimiter, 1}) << ' ' << hex(text.bytes) << '\n';
  }
  const std::string command =
      fmt::format("python3 {} < {} > {}", MILLRACE_RECORDS_PY, (folder / "in").string(), (folder / "out").string());
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  std::vector<Answer> answers;
  std::ifstream out(folder / "out");
  for (std::string line; std::getline(out, line);) {
    Answer answer;
    std::istringstream words(line);
    std::string word;
    words >> answer.rows >> word;
    if (word == "records") {
      answer.records.emplace();
      while (words >> word) {
        std::string& record = answer.records->emplace_back();
        if (word == "count") {
          record = word;
          continue;
        }
        for (std::size_t i = 0; i < word.size(); i += 2) {
          record += static_cast<char>(std::stoi(word.substr(i, 2), nullptr, 16));
        }
      }
    }
    answers.push_back(answer);
  }
  std::filesystem::remove_all(folder);
  return answers;
}

struct Read {
  std::size_t rows = 0;  ///< framed, header included
  bool refused = false;  ///< by the framer
  Records records;       ///< "count" for another number of fields, "malformed" for what is no row
};

Read read(const Text& text, std::size_t cut) {
  CsvFramer framer(FramerOptions{.csv = {.delimiter = text.delimiter}});
  const auto framed = framing::frame_in_pieces(framer, text.bytes, {cut}, 2, '"');
  Read got;
  got.refused = framed.error.has_value();
  got.rows = framed.records.size() + (framer.columns() ? 1 : 0);
  CsvReader reader;
  for (const std::string& row : framed.records) {
    decode::Json json;
    if (reader.read(row, framer.columns(), json)) {
      got.records.emplace_back(json.view);
    } else {
      got.records.emplace_back(reader.error().message().find("the header") != std::string::npos ? "count"
                                                                                                : "malformed");
    }
  }
  return got;
}

TEST(CsvRecords, AgreeWithPython) {
  std::mt19937 random(9);  // the same texts each time
  const auto any = [&](std::size_t count) { return static_cast<std::size_t>(random()) % count; };
  const std::vector<std::string> pieces{"\"",   "\"",  ",",      ",",    ";",  "\n",       "\n", "\r\n",
                                        "a",    "1",   " ",      "\"\"", "\t", "\xC3\xA9", "\\", "\"x,\n\"\"y\"",
                                        "\x01", "xyz", "\"\n\"", "'"};
  std::vector<Text> texts;
  for (int i = 0; i < 4000; ++i) {
    Text text;
    text.delimiter = i % 3 == 0 ? ';' : i % 7 == 0 ? '\t' : ',';
    text.bytes = i % 5 == 0 ? "\xEF\xBB\xBF" : i % 11 == 0 ? "\n\r\n" : "";
    const std::string names[] = {"a", "\"b,\"\"\"", "c d"};
    const std::size_t columns = 1 + any(3);
    for (std::size_t k = 0; k < columns; ++k) text.bytes += (k == 0 ? "" : std::string(1, text.delimiter)) + names[k];
    text.bytes += "\n";
    // Rows that are mostly right: fields, sound and not so sound.
    for (std::size_t rows = any(5); rows != 0; --rows) {
      for (std::size_t k = 0; k < columns; ++k) {
        if (k != 0) text.bytes += any(20) == 0 ? ',' : text.delimiter;
        std::string field;
        for (std::size_t parts = any(4); parts != 0; --parts) field += pieces[any(pieces.size())];
        if (any(3) != 0) {
          std::string quoted = "\"";
          for (const char byte : field) quoted += byte == '"' ? "\"\"" : std::string(1, byte);
          field = quoted + "\"";
        }
        text.bytes += field;
      }
      text.bytes += any(2) == 0 ? "\n" : "\r\n";
    }
    if (any(4) == 0 && !text.bytes.ends_with("\r\n")) text.bytes.pop_back();
    texts.push_back(text);
  }
  const auto answers = by_python(texts);
  ASSERT_EQ(answers.size(), texts.size());
  std::size_t sound = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const Read got = read(texts[i], any(texts[i].bytes.size() + 1));
    if (answers[i].records) {
      ++sound;
      EXPECT_FALSE(got.refused) << texts[i].bytes;
      EXPECT_EQ(got.records, *answers[i].records) << texts[i].bytes;
    } else {
      EXPECT_TRUE(got.refused || std::ranges::count(got.records, "malformed") > 0) << texts[i].bytes;
    }
    // Whatever is wrong inside a row, the next one begins where Python's does.
    if (!got.refused) {
      EXPECT_EQ(static_cast<long>(got.rows), answers[i].rows) << texts[i].bytes;
    }
  }
  EXPECT_GT(sound, 1500U);
  EXPECT_LT(sound, 3900U);
}

// Exports have empty names, and the same one twice. Rows are rows all the same, as for Python's csv.reader; only their
// objects (Python's DictReader keeps the last of two) cannot be made.
TEST(CsvRecords, RowsUnderNamesThatAreNoneOrTwiceThereAreThoseOfPython) {
  const std::vector<Text> texts{
      {',', "a,,a,\n1,2,3,4\n\"5\n\",6,7,8\n"}, {',', ",,\n,,\n"}, {';', "a;a\n1;2\r\n\n3;4"}};
  const auto answers = by_python(texts);
  ASSERT_EQ(answers.size(), texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const Read got = read(texts[i], texts[i].bytes.size() / 2);
    EXPECT_FALSE(got.refused) << texts[i].bytes;
    EXPECT_EQ(static_cast<long>(got.rows), answers[i].rows) << texts[i].bytes;
    EXPECT_EQ(got.records, Records(got.rows - 1, "count")) << texts[i].bytes;  // refused for the header
  }
}

}  // namespace
}  // namespace millrace::csv
