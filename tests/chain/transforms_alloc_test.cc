// SPDX-License-Identifier: Apache-2.0
// INV-8: once its buffers have grown, a list of transforms allocates nothing for a document, whatever it does to it. jq
// is apart: it allocates as it likes.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "millrace/ops/transforms.h"
#include "tests/chain/allocation_count.h"

namespace millrace {
namespace {

using ops::FieldValue;
using Key = ops::TextPattern::Kind;
using Value = ops::ValuePattern::Kind;

constexpr std::string_view kDocument =
    R"({"id":12345,"user":{"na\u006de":"a name that fits no small buffer at all","mail":"x@example.org","deep":{"er":1.50}},)"
    R"("note":"another long text with \"escapes\" that fits no small buffer","n":12,"n":13,"meta_a":null,"list":[1,2,{"a":"b"}]})";

FieldPath path(std::vector<std::string> names) { return {std::move(names)}; }

TEST(TransformAllocations, INV8_NoneForADocument) {
  const auto json = [](std::string text) { return FieldValue{FieldValue::Computed::none, std::move(text)}; };
  const auto computed = [](FieldValue::Computed by) { return FieldValue{by, "null"}; };
  const auto program = ops::TransformProgram::make({
      ops::KeepWhere{
          R"(user.name == "a name that fits no small buffer at all" and n > 12.5 and not exists(user.none))"},
      ops::AddFields{{{path({"user", "made", "x"}), json(R"({"a long static value":[1,2,3,4,5,6,7,8,9]})"), {}},
                      {path({"n"}), json("14"), {}},
                      {path({"t"}), computed(FieldValue::Computed::date_time), {}},
                      {path({"at"}), computed(FieldValue::Computed::timestamp_nanos), {}},
                      {path({"uuid"}), computed(FieldValue::Computed::uuid_v4), {}},
                      {path({"uuid7"}), computed(FieldValue::Computed::uuid_v7), {}}}},
      ops::UpdateFields{{{path({"user", "mail"}), json("\"***\""), ops::SetWhen::key_exists}}},
      ops::RenameFields{{{path({"note"}), "remark of a longer name"}, {path({"user", "name"}), "called"}}},
      ops::FilterFields{{},
                        {path({"user", "deep"})},
                        {{ops::TextPattern{Key::regex, "^meta_"}, ops::ValuePattern{Value::is_null, "", ""}}},
                        false},
      ops::FilterFields{path({"user"}),
                        {},
                        {{{}, ops::ValuePattern{Value::regex, "no small buf+er$", ""}},
                         {{}, ops::ValuePattern{Value::equals, R"({"er":1.5})", ""}}},
                        true},
      ops::FlattenFields{},
      ops::DeleteFields{{path({"list"}), path({"user.called"})}},
      ops::ProjectFields{{path({"id"}), path({"user.deep.er"}), path({"t"})}},
  });
  ASSERT_TRUE(program.has_value()) << program.error().message();
  ops::TransformRunner runner(*program, Clock::real(), Random::system());
  const auto allocations_of = [&](std::size_t documents, bool sound) {
    const std::size_t before = allocation_count();
    for (std::size_t i = 0; i < documents; ++i) {
      EXPECT_TRUE(runner.run({kDocument, false}, 0, sound, {}));
      EXPECT_EQ(runner.documents().size(), 1U);
    }
    return allocation_count() - before;
  };
  allocations_of(4, true);
  EXPECT_EQ(allocations_of(1000, true), 0U);
  EXPECT_EQ(allocations_of(1000, false), 0U);
  EXPECT_EQ(runner.documents()[0].view.substr(0, 31), R"({"id":12345,"user.deep.er":1.50)");
}

}  // namespace
}  // namespace millrace
