// SPDX-License-Identifier: Apache-2.0
// Whatever the bytes: the first line is looked at as a program of jq, the rest is a document to programs that are
// known. What they give out is sound JSON, no more than it is said to be, and the same when the document comes again;
// what libjq cannot write is an error of the record.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "decode/strict_json.h"
#include "millrace/base/check.h"
#include "millrace/ops/transforms.h"
#include "ops/transforms/jq_words.h"

namespace {

using namespace millrace;

struct Ran {
  ops::TransformProgram program;
  ops::TransformRunner runner;
  explicit Ran(std::vector<ops::TransformSpec> list)
      : program(ops::TransformProgram::make(std::move(list)).value()),
        runner(program, Clock::real(), Random::system()) {}

  std::string over(std::string_view document, bool sound) {
    const std::string room = std::string(document) + std::string(32, '9') + std::string(32, '"');
    if (!runner.run({{room.data(), document.size()}}, 64, false, {})) {
      MILLRACE_CHECK(runner.failure().is_record() && !runner.failure().message().empty(), "a fault has words");
      MILLRACE_CHECK(!sound || runner.failed_at() < program.list().size(), "sound JSON is not called unsound");
      return "!" + runner.failure().message();
    }
    std::string all;
    std::uint64_t bytes = 0;
    for (const decode::Json& made : runner.documents()) {
      MILLRACE_CHECK(StrictJson(made.view).is_document(), "sound JSON is made");
      bytes += made.view.size();
      all += std::string(made.view) + "\n";
    }
    MILLRACE_CHECK(all.empty() || sound, "what is no JSON is not transformed");
    MILLRACE_CHECK(bytes <= program.grown(document.size()), "no document grows further than it is said to");
    return all;
  }
};

std::vector<Ran>& programs() {
  static std::vector<Ran> all = [] {
    std::vector<Ran> made;
    made.emplace_back(std::vector<ops::TransformSpec>{ops::JqFilter{"."}});
    made.emplace_back(std::vector<ops::TransformSpec>{ops::JqFilter{"[.]"}, ops::FlattenFields{}});
    made.emplace_back(std::vector<ops::TransformSpec>{ops::JqFilter{"., {a: {b: .}}", 2}, ops::FlattenFields{},
                                                      ops::RenameFields{{{FieldPath{{"a.b"}}, "c"}}}});
    made.emplace_back(std::vector<ops::TransformSpec>{ops::JqFilter{".[]?", 100}, ops::JqFilter{"[.., tojson]"}});
    made.emplace_back(std::vector<ops::TransformSpec>{ops::JqFilter{
        "if type == \"string\" then halt_error elif type == \"null\" then error elif . == false then halt "
        "else to_entries? end"}});
    return made;
  }();
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const std::string_view line = all.substr(0, all.find('\n'));
  const std::string_view document = all.substr(std::min(line.size() + 1, all.size()));

  std::size_t at = 0;
  for (const transforms::JqWord& word : transforms::words_of_jq(line)) {
    MILLRACE_CHECK(word.end >= at && word.end <= line.size(), "words come in order");
    at = word.end;
  }
  MILLRACE_CHECK(!transforms::check_jq_words(std::string("env | ") + std::string(line)), "what is refused stays so");
  std::ignore = transforms::jq_varies_with(line);

  const bool sound = StrictJson(document).is_document();
  for (Ran& ran : programs()) {
    const std::string made = ran.over(document, sound);
    MILLRACE_CHECK(ran.over(document, sound) == made, "a record leaves nothing behind");
  }
  return 0;
}
