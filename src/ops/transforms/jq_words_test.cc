// SPDX-License-Identifier: Apache-2.0
// Which names a program of jq calls, and which of these are refused. What the lexer of jq 1.6 makes of each was looked
// up by running it.
#include "ops/transforms/jq_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace millrace::transforms {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string refused(std::string_view program) {
  const auto checked = check_jq_words(program);
  return checked ? "" : checked.error().message();
}

TEST(JqWords, NamesAndVariablesOnly) {
  std::string all;
  for (const JqWord& word : words_of_jq(R"re(def f(g): .a.b | g; {k: f(.x), y, $v, "s\(t | "u\(v)")": 1} # c
    | @base64 "w\(.z)" | $ENV | $ w as [$p] | .. | a::b)re")) {
    all += (word.kind == JqWord::Kind::variable ? "$" : "") + std::string(word.text) + " ";
  }
  EXPECT_EQ(all, "def f g g f $v t v $ENV $w as $p a::b ");
}

TEST(JqWords, WhatReachesOutOfTheDocumentIsRefusedWithAWayOut) {
  for (const char* program : {"input", "[inputs]", "first(inputs)", "_input"})
    EXPECT_THAT(refused(program), HasSubstr("other input"));
  for (const char* program : {"debug", ".a|debug", "stderr", "(debug)", "[.[]|debug]"})
    EXPECT_THAT(refused(program), HasSubstr("writes beside"));
  for (const char* program : {"input_filename", "input_line_number"})
    EXPECT_THAT(refused(program), HasSubstr("where the input came from"));
  for (const char* program :
       {"env", "env.HOME", "$ENV", "$ENV.HOME", "$ ENV", "{$ENV}", "\"\\(env.A)\"", "{a: env}", "{(env.A): 1}",
        "{a: 1, b: [env]}", "@text \"\\($ENV)\"", "\"\\(\"\\(env)\")\"", "# no\nenv", "1#\"\r|env"}) {
    EXPECT_THAT(refused(program), HasSubstr("${NAME}")) << program;
  }
  for (const char* program : {"import \"a\" as a; .", "include \"a\"; .", "module {}; .", "get_search_list",
                              "\"a\"|modulemeta", "import \"a\" as $a; ."}) {
    EXPECT_THAT(refused(program), HasSubstr("write the definitions")) << program;
  }
  EXPECT_THAT(refused("{a: if true then 1, env, 2 else 3 end}"), HasSubstr("'env'"));
  EXPECT_THAT(refused("1 # a \\\n | 2"), HasSubstr("comment ends with a backslash"));
  EXPECT_THAT(refused("debug"), HasSubstr("'debug'"));
  EXPECT_THAT(refused("$ENV"), HasSubstr("'$ENV'"));
}

TEST(JqWords, FieldsKeysTextsAndCommentsAreNoCalls) {
  for (const char* program : {".env",
                              ".input.debug",
                              "{env: 1}",
                              "{env}",
                              "{a, env}",
                              "{a: .b, env : 2}",
                              "{env, a}",
                              ". as {env: $x} | $x",
                              "\"env\"",
                              "\"\\\"env\"",
                              "\"a\\\\\" | .env",
                              ".\"env\"",
                              ".[\"env\"]",
                              ".a # env\n",
                              "# \"\n.env",
                              "$env",
                              "@env",
                              ".env?",
                              "..|.env?",
                              "environment",
                              "inputs_",
                              "debugger",
                              "{\"env\": 1}",
                              "{if: 1, env: 2}",
                              "{a: \"\\(.x)\", env: 1}",
                              "",
                              "#",
                              "\""}) {
    EXPECT_EQ(refused(program), "") << program;
  }
}

TEST(JqWords, WhatVaries) {
  for (const char* program :
       {"now", ".t = now", "{a: now}", "\"\\(now)\"", "localtime", "strflocaltime(\"%Y\")", "mktime", ".a|fromdate",
        "fromdateiso8601", "strftime(.f)", "strftime(\"%s\")", "strftime(\"%Y %-s\")", "strftime(\"%Z\")",
        "strftime(\"%10Z\")", "strftime(\"%\\u0073\")", "strftime(\"a\\(.x)\")", "strftime(\"%Y\", \"%s\")",
        "strptime(\"%s\")", "strftime"}) {
    EXPECT_NE(jq_varies_with(program), "") << program;
  }
  EXPECT_EQ(jq_varies_with(".a | now"), "now");
  for (const char* program : {".now", "{now: 1}", "{now}", "\"now\"", "# now", "known", "$now", "todate", "gmtime",
                              "date", "$__loc__", "strftime(\"%Y-%m-%dT%H:%M:%SZ\")", "strftime ( \"%%s\" )",
                              "strptime(\"%d/%b/%Y\")", "dateadd(\"seconds\"; 1)"}) {
    EXPECT_EQ(jq_varies_with(program), "") << program;
  }
}

}  // namespace
}  // namespace millrace::transforms
