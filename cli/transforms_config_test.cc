// SPDX-License-Identifier: Apache-2.0
// `transforms` of a pipeline file: what each spelling means to a document, and each mistake with its place.
#include "cli/transforms_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "millrace/config/describe.h"

namespace millrace::cli {
namespace {

using ::testing::HasSubstr;

struct Read {
  ops::TransformProgram program;
  DecodeOptions decode;
  std::string problems;
};

Read read(const std::string& yaml, DecodeOptions decode = {}) {
  const auto config = Config::parse(yaml, "p.yaml");
  if (!config) return {{}, {}, config.error().message()};
  ConfigProblems problems;
  Read out;
  out.decode = decode;
  out.program = read_transforms(config->section("transforms"), config->section("decode"), out.decode, problems);
  for (const std::string& problem : problems.all()) out.problems += problem + "\n";
  return out;
}

std::string run(const std::string& yaml, const std::string& document) {
  const Read made = read("transforms:\n" + yaml);
  EXPECT_EQ(made.problems, "");
  ops::TransformRunner runner(made.program, Clock::real(), Random::system());
  if (!runner.run({document}, 0, false, {})) return runner.failure().message();
  std::string out;
  for (const decode::Json& one : runner.documents()) out += (out.empty() ? "" : "\n") + std::string(one.view);
  return out;
}

std::string refused(const std::string& yaml) {
  const Read made = read("transforms:\n" + yaml);
  EXPECT_TRUE(made.program.empty()) << "a list with a problem is not run";
  return made.problems;
}

TEST(TransformsConfig, EachByTheNamesOfIggy) {
  EXPECT_EQ(run(R"(- add_fields:
    fields:
      - {key: a, value: {static: [1, 1.50, -0, 1e400, "1", true, null, x y, {b: ~}]}}
      - {key: [u, "v.w"], value: {static: "ü"}}
      - {key: 'x\.y', value: {static: 2026-07-01}}
)",
                "{}"),
            R"({"a":[1,1.50,-0,1e400,"1",true,null,"x y",{"b":null}],"u":{"v.w":"ü"},"x.y":"2026-07-01"})");
  EXPECT_EQ(run("- delete_fields: {fields: [a, b.c, [d, \"e.f\"]]}\n", R"({"a":1,"b":{"c":2},"d":{"e.f":3,"g":4}})"),
            R"({"b":{},"d":{"g":4}})");
  EXPECT_EQ(run("- update_fields:\n    fields:\n    - {key: a, value: {static: 0}, condition: key_exists}\n"
                "    - {key: b, value: {static: 0}, condition: key_not_exists}\n",
                R"({"a":1})"),
            R"({"a":0,"b":0})");
  EXPECT_EQ(run("- unwrap_envelope: {field: a.b}\n", R"({"a":{"b":[1]}})"), "[1]");
  EXPECT_EQ(run("- filter_fields:\n    keep_fields: [id]\n    patterns:\n"
                "    - {key_pattern: {starts_with: m_}, value_pattern: {between: [1, 2.5]}}\n    - {value_pattern: "
                "is_null}\n",
                R"({"id":0,"m_a":2,"m_b":3,"n":null,"x":1})"),
            R"({"id":0,"m_a":2,"n":null})");
  EXPECT_EQ(run("- filter_fields: {at: u, include_matching: false, patterns: [{value_pattern: {equals: {a: [1]}}}]}\n",
                R"({"u":{"x":{"a":[1.0]},"y":1}})"),
            R"({"u":{"y":1}})");
}

TEST(TransformsConfig, TheOthers) {
  EXPECT_EQ(run("- filter: {where: a > 1 and not exists(b)}\n", R"({"a":2})"), R"({"a":2})");
  EXPECT_EQ(run("- filter: {where: a > 1 and not exists(b)}\n", R"({"a":2,"b":0})"), "");
  EXPECT_EQ(run("- project: [a, b.c]\n", R"({"x":1,"b":{"d":2,"c":3},"a":4})"), R"({"b":{"c":3},"a":4})");
  EXPECT_EQ(run("- rename: {a.b: c, x: 'y\\.z'}\n", R"({"a":{"b":1},"x":2})"), R"({"a":{"c":1},"y.z":2})");
  EXPECT_EQ(run("- flatten: {separator: _, depth: 1}\n", R"({"a":{"b":{"c":1}}})"), R"({"a_b":{"c":1}})");
  EXPECT_EQ(run("- flatten: {}\n- delete_fields: {fields: ['a\\.b']}\n- flatten: {}\n", R"({"a":{"b":1,"c":2}})"),
            R"({"a.c":2})")
      << "in the order written, as often as it is there";
  EXPECT_EQ(run("[]\n", R"({ "a":1})"), R"({ "a":1})");
}

TEST(TransformsConfig, ScalarsAreWhatYamlSays) {
  EXPECT_EQ(run(R"(- add_fields:
    fields:
      - {key: a, value: {static: [True, FALSE, ~, Null, 0x10, 0o17, +1, .5, 1., "True", '~', "0x10", yes, NO, 1_000]}}
)",
                "{}"),
            R"({"a":[true,false,null,null,16,15,1,0.5,1.0,"True","~","0x10","yes","NO","1_000"]})");
  EXPECT_EQ(
      run("- filter_fields: {patterns: [{value_pattern: {between: [0x10, +20]}}]}\n", R"({"a":15,"b":16,"c":21})"),
      R"({"b":16})");
  EXPECT_EQ(run("- filter_fields: {patterns: [{value_pattern: {equals: True}}]}\n", R"({"a":true,"b":"True"})"),
            R"({"a":true})");
}

TEST(TransformsConfig, JqHasABound) {
  const auto most = [](const std::string& yaml) {
    const Read made = read("transforms:\n" + yaml);
    if (made.program.empty()) return made.problems;  // also where this build has no jq
    const auto& jq = std::get<ops::JqFilter>(made.program.list()[0]);
    return jq.program + " " + std::to_string(jq.max_outputs);
  };
  if (most("- jq: .\n").find("libjq was not found") != std::string::npos) return;
  EXPECT_EQ(most("- jq: .a | .b\n"), ".a | .b 10000");
  EXPECT_EQ(most("- jq: {program: '.a[]'}\n"), ".a[] 10000");
  EXPECT_EQ(most("- jq: {program: '.a[]', max_outputs: 7}\n"), ".a[] 7");
}

TEST(TransformsConfig, WithoutDecodeDocumentsAreJsonAndWhatGivesNoneIsRefused) {
  const std::string yaml = "transforms: [{project: [a]}]\n";
  EXPECT_EQ(read(yaml).decode.kind, DecodeOptions::Kind::json);
  DecodeOptions csv;
  csv.kind = DecodeOptions::Kind::csv;
  EXPECT_EQ(read(yaml, csv).decode.kind, DecodeOptions::Kind::csv);
  DecodeOptions raw;
  raw.kind = DecodeOptions::Kind::raw;
  EXPECT_THAT(read(yaml + "decode: {raw: {}}\n", raw).problems,
              HasSubstr("p.yaml:2:9: decode.raw: transforms are for JSON; write `decode: {json: {}}`"));
  DecodeOptions text;
  text.kind = DecodeOptions::Kind::text;
  EXPECT_THAT(read(yaml + "decode: {text: {}}\n", text).problems, HasSubstr("decode.text"));
}

struct Wrong {
  const char* yaml;
  const char* says;
};

class TransformsConfigRefuses : public ::testing::TestWithParam<Wrong> {};

TEST_P(TransformsConfigRefuses, WithItsPlace) { EXPECT_THAT(refused(GetParam().yaml), HasSubstr(GetParam().says)); }

INSTANTIATE_TEST_SUITE_P(
    Each, TransformsConfigRefuses,
    ::testing::Values(
        Wrong{"- add_field: {}\n", "p.yaml:2:3: transforms[0].add_field: unknown; did you mean 'add_fields'?"},
        Wrong{"- {project: [a], flatten: {}}\n", "transforms[0]: expects exactly one of add_fields"},
        Wrong{"- project\n", "p.yaml:2:3: transforms[0]: expects exactly one of"},
        Wrong{"- route: {}\n", "p.yaml:2:3: transforms[0].route: chooses among several sinks"},
        Wrong{"- add_fields: {}\n", "transforms[0].add_fields.fields: is required"},
        Wrong{"- add_fields: {fields: [], enabled: true}\n",
              "transforms[0].add_fields.enabled: a transform that is not wanted"},
        Wrong{"- add_fields: {fields: []}\n", "transforms[0].add_fields: names no field"},
        Wrong{"- add_fields: {fields: [{key: a, value: 1}]}\n", "value: expects exactly one of static, computed"},
        Wrong{"- add_fields: {fields: [{key: a, value: {static: 1}, condition: always}]}\n", "condition: unknown key"},
        Wrong{"- add_fields:\n    fields:\n    - {key: a, value: {computed: uuid}}\n",
              "p.yaml:4:34: transforms[0].add_fields.fields[0].value.computed: expects one of date_time|"},
        Wrong{"- add_fields: {fields: [{key: a, value: {static: [1, -.inf]}}]}\n",
              "p.yaml:2:54: transforms[0].add_fields.fields[0].value.static[1]: '-.inf' is a number to YAML and none "
              "to JSON"},
        Wrong{"- add_fields: {fields: [{key: a, value: {static: 007}}]}\n", "'007' begins with a zero"},
        Wrong{"- add_fields: {fields: [{key: a..b, value: {static: 1}}]}\n", "'a..b' is no path"},
        Wrong{"- update_fields: {fields: [{key: a, value: {static: 1}, condition: if_exists}]}\n",
              "condition: expects one of always|key_exists|key_not_exists"},
        Wrong{"- delete_fields: {fields: a}\n", "fields: expects a list of paths"},
        Wrong{"- delete_fields: {fields: [a, a.b]}\n", "one below the other"},
        Wrong{"- filter_fields: {patterns: [{}]}\n", "neither key_pattern nor value_pattern"},
        Wrong{"- filter_fields: {patterns: [{key: {exact: a}}]}\n", "patterns[0].key: unknown key"},
        Wrong{"- filter_fields: {patterns: [{key_pattern: {regex: \"(\"}}]}\n", "the regex '(' is none"},
        Wrong{"- filter_fields: {patterns: [{value_pattern: is_nul}]}\n", "did you mean 'is_null'?"},
        Wrong{"- filter_fields: {patterns: [{value_pattern: {between: [1]}}]}\n", "two numbers, [least, most]"},
        Wrong{"- filter_fields: {patterns: [{value_pattern: {less_than: a}}]}\n", "less_than: expects a number"},
        Wrong{"- filter_fields: {patterns: [{value_pattern: {less_than: \"1\"}}]}\n", "less_than: expects a number"},
        Wrong{"- filter_fields: {patterns: [{value_pattern: {between: [1, .inf]}}]}\n", "between[1]: expects a number"},
        Wrong{"- filter_fields: {include_matching: maybe}\n", "expects true or false"},
        Wrong{"- unwrap_envelope: {field: \"\"}\n", "a name in it is empty"},
        Wrong{"- filter: {where: a = 1}\n", "p.yaml:2:11: transforms[0].filter: where: at character 3"},
        Wrong{"- rename: {a: b.c}\n", "the new name alone"}, Wrong{"- rename: {a: c, b: c}\n", "called 'c'"},
        Wrong{"- rename: [a]\n", "expects a section of old paths"},
        Wrong{"- flatten: {depth: 0}\n", "depth: 0 is out of range"},
        Wrong{"- flatten: x\n", "flatten: expects a section"}, Wrong{"- project: []\n", "names no field"},
        Wrong{"- jq: [a]\n", "jq: expects a text"}, Wrong{"- jq: {max_outputs: 1}\n", "jq.program: is required"},
        Wrong{"- jq: {program: ., max_output: 1}\n", "jq.max_output: unknown key"},
        Wrong{"- jq: {program: ., max_outputs: 0}\n", "jq.max_outputs: 0 is out of range"}));

TEST(TransformsConfigRefuses, WhatIsNoList) {
  EXPECT_THAT(read("transforms: {}\n").problems, HasSubstr("p.yaml:1:13: transforms: expects a list"));
  EXPECT_THAT(refused("- add_fields: {}\n- flatten: x\n"), HasSubstr("transforms[1].flatten"))
      << "all problems together";
}

TEST(TransformsConfig, ASchemaForEditors) {
  const auto file = nlohmann::json::parse(describe_json_schema({"file", "", {describe_transforms()}}));
  const auto& list = file["properties"]["transforms"];
  EXPECT_EQ(list["type"], "array");
  EXPECT_EQ(list["items"]["maxProperties"], 1);
  const auto& each = list["items"]["properties"];
  EXPECT_EQ(each.size(), 10U);
  const auto& field = each["update_fields"]["properties"]["fields"]["items"];
  EXPECT_EQ(field["required"], (nlohmann::json{"key", "value"}));
  EXPECT_EQ(field["properties"]["key"]["anyOf"][1]["items"]["type"], "string");
  EXPECT_EQ(field["properties"]["value"]["minProperties"], 1);
  EXPECT_EQ(field["properties"]["condition"]["anyOf"][0]["enum"][2], "key_not_exists");
  EXPECT_EQ(each["project"]["items"]["anyOf"][0]["type"], "string");
  const auto& value = each["filter_fields"]["properties"]["patterns"]["items"]["properties"]["value_pattern"];
  EXPECT_EQ(value["anyOf"][0]["properties"]["between"]["maxItems"], 2);
  EXPECT_EQ(value["anyOf"][1]["type"], "string");
  EXPECT_EQ(each["jq"]["anyOf"][0]["required"][0], "program");
  EXPECT_EQ(each["jq"]["anyOf"][1]["type"], "string");
}

TEST(TransformsConfig, EachHasItsDescription) {
  const std::string text = describe_text({"transforms", "", describe_transforms().nested});
  for (const char* name : {"add_fields", "delete_fields", "filter_fields", "update_fields", "unwrap_envelope",
                           "filter  ", "project", "rename", "flatten", "jq", "uuid_v7", "key_not_exists"}) {
    EXPECT_THAT(text, HasSubstr(name));
  }
}

}  // namespace
}  // namespace millrace::cli
