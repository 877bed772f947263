// SPDX-License-Identifier: Apache-2.0
// Whatever the bytes: the first line is a path and an expression, the rest a document. Parsers refuse or agree with
// themselves; transforms make sound JSON of sound JSON, say of the rest that it is none, and leave alone what they do
// not find.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "decode/strict_json.h"
#include "millrace/base/check.h"
#include "millrace/ops/transforms.h"

namespace {

using namespace millrace;

/// What becomes of a document; the same as a second opinion on what came and on what was made.
std::string run(std::vector<ops::TransformSpec> list, std::string_view document, bool sound) {
  const auto program = ops::TransformProgram::make(std::move(list));
  MILLRACE_CHECK(program.has_value(), "this list can be made");
  ops::TransformRunner runner(*program, Clock::real(), Random::system());
  const std::string room = std::string(document) + std::string(32, '9') + std::string(32, '"');
  if (!runner.run({{room.data(), document.size()}}, 64, false, {})) {
    MILLRACE_CHECK(runner.failure().is_record() && !runner.failure().message().empty(), "a fault has words");
    MILLRACE_CHECK(!sound || runner.failed_at() < program->list().size(), "sound JSON is not called unsound");
    return "!";
  }
  if (runner.documents().empty()) return "-";
  const std::string_view made = runner.documents()[0].view;
  MILLRACE_CHECK(sound, "what is no JSON is not transformed");
  MILLRACE_CHECK(StrictJson(made).is_document(), "sound JSON is made");
  MILLRACE_CHECK(made.size() <= program->grown(document.size()), "no document grows further than it is said to");
  return std::string(made);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const std::string_view line = all.substr(0, all.find('\n'));
  const std::string_view document = all.substr(std::min(line.size() + 1, all.size()));
  const bool sound = StrictJson(document).is_document();

  const ops::TransformSpec where = ops::KeepWhere{std::string(line)};
  if (ops::TransformProgram::check(where)) {
    const std::string kept = run({where}, document, sound);
    MILLRACE_CHECK(!sound || kept == "-" || kept == document, "a filter changes no byte");
    const ops::TransformSpec contrary = ops::KeepWhere{"not (" + std::string(line) + ")"};
    if (sound && ops::TransformProgram::check(contrary)) {  // it may be too deep now
      const std::string other = run({contrary}, document, sound);
      MILLRACE_CHECK((kept == "-") != (other == "-"), "a document meets an expression or its contrary");
    }
  }
  run({ops::FlattenFields{}}, document, sound);

  const auto path = FieldPath::parse(line);
  if (!path) return 0;
  MILLRACE_CHECK(FieldPath::parse(path->text()) == *path, "a path reads back as it is written");
  const std::string without = run({ops::DeleteFields{{*path}}}, document, sound);
  if (!sound) return 0;
  MILLRACE_CHECK(run({ops::DeleteFields{{*path}}}, without, true) == without, "what is gone is gone");
  const auto added = [&](std::string value) {
    return ops::AddFields{{{*path, {ops::FieldValue::Computed::none, std::move(value)}, {}}}};
  };
  const std::string with = run({added("[1]")}, without, true);
  if (with != "!") {
    MILLRACE_CHECK(with != without, "what is put is there");
    MILLRACE_CHECK(run({added("[1]")}, with, true) == with, "putting it again changes nothing");
    run({ops::ProjectFields{{*path}}}, with, true);
    MILLRACE_CHECK(run({ops::UnwrapEnvelope{*path}}, with, true) == "[1]", "what was put can be taken");
  }
  if (path->names.back() != "renamed") run({ops::RenameFields{{{*path, "renamed"}}}}, document, true);
  const auto updated = [&](ops::SetWhen when) {
    return run({ops::UpdateFields{{{*path, {ops::FieldValue::Computed::none, "[1]"}, when}}}}, document, true);
  };
  MILLRACE_CHECK(
      run({ops::UnwrapEnvelope{*path}}, document, true) != document || updated(ops::SetWhen::key_exists) == document,
      "what is not there is not set, and no byte changes");
  updated(ops::SetWhen::key_not_exists);
  run({ops::FilterFields{{}, {*path}, {{ops::TextPattern{ops::TextPattern::Kind::contains, "a"}, {}}}, false}},
      document, true);
  return 0;
}
