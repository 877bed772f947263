// SPDX-License-Identifier: Apache-2.0
// Config: the tree with its places, and each kind of bad file with the message a person gets.
#include "millrace/config/config.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "config/config_parse.h"

namespace millrace {
namespace {

using config_test::parsed;
using config_test::refused;
using Kind = ConfigSection::Kind;

const auto kNoSecrets = [](std::string_view) { return false; };

TEST(Config, EveryNodeKnowsItsPlaceAndPath) {
  const Config config = parsed(
      "pipeline:\n"
      "  name: daily\n"
      "source:\n"
      "  s3:\n"
      "    url: \"s3://b/p\"\n"
      "    include: [a, 'b']\n"
      "    store: {}\n");
  EXPECT_EQ(config.section("source.s3.url").where(), "p.yaml:5:10");
  EXPECT_EQ(config.section("source.s3.url").key_where(), "p.yaml:5:5");
  EXPECT_EQ(config.section("source.s3.url").text(), "s3://b/p");
  EXPECT_TRUE(config.section("source.s3.url").quoted());
  EXPECT_FALSE(config.section("pipeline.name").quoted());
  EXPECT_EQ(config.section("source.s3").path(), "source.s3");
  EXPECT_EQ(config.section("source.s3").kind(), Kind::mapping);
  EXPECT_EQ(config.section("source.s3.store").kind(), Kind::mapping);
  const auto items = config.section("source.s3.include").items();
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[1].path(), "source.s3.include[1]");
  EXPECT_EQ(items[1].where(), "p.yaml:6:18");
  EXPECT_EQ(config.root().keys(), (std::vector<std::string>{"pipeline", "source"}));
}

TEST(Config, AMissingNodeNamesItsParentsPlace) {
  const Config config = parsed("source:\n  s3:\n    url: x\n");
  const ConfigSection missing = config.section("source.s3.checkpoint.url");
  EXPECT_FALSE(missing.exists());
  EXPECT_EQ(missing.kind(), Kind::missing);
  EXPECT_EQ(missing.path(), "source.s3.checkpoint.url");
  EXPECT_EQ(missing.where(), "p.yaml:3:5");
  EXPECT_EQ(missing.text(), "");
  EXPECT_FALSE(ConfigSection().exists());
  EXPECT_EQ(ConfigSection().where(), "");
}

TEST(Config, ColumnsCountCharactersNotBytes) {
  const Config config = parsed("{\xC3\xA9: {caf\xC3\xA9: \xE2\x82\xAC, x: 1}}\n");
  EXPECT_EQ(config.section("\xC3\xA9.x").key_where(), "p.yaml:1:15");
}

TEST(Config, ASectionKeepsTheTreeAlive) {
  ConfigSection section;
  {
    const Config config = parsed("a: {b: text}\n");
    section = config.section("a.b");
  }
  EXPECT_EQ(section.text(), "text");
}

TEST(Config, NullsAreNotText) {
  const Config config = parsed("a: ~\nb:\nc: null\nd: \"null\"\ne: ${N}\n", {{"N", "null"}});
  EXPECT_EQ(config.section("a").kind(), Kind::null);
  EXPECT_EQ(config.section("b").kind(), Kind::null);
  EXPECT_EQ(config.section("b").where(), "p.yaml:2:1");  // where the key is, not where the next thing begins
  EXPECT_EQ(config.section("c").kind(), Kind::null);
  EXPECT_EQ(config.section("d").kind(), Kind::scalar);
  EXPECT_EQ(config.section("e").kind(), Kind::scalar);  // a variable's value is text, whatever it says
}

TEST(Config, BlockTextAndComments) {
  const Config config = parsed("# hello\na: |\n  x\n  y\nb: plain # not this\n");
  EXPECT_EQ(config.section("a").text(), "x\ny\n");
  EXPECT_EQ(config.section("b").text(), "plain");
}

TEST(ConfigRefuses, DuplicateKeysAtAnyDepthAllOfThem) {
  EXPECT_EQ(refused("a: 1\nb:\n  c: 1\n  d: 2\n  c: 3\na: 2\n"),
            "p.yaml:5:3: b.c: given twice; first on line 3\n"
            "p.yaml:6:1: a: given twice; first on line 1");
  EXPECT_EQ(refused("l:\n  - {x: 1, x: 2}\n"), "p.yaml:2:12: l[0].x: given twice; first on line 2");
  EXPECT_EQ(refused("a: 1\n'a': 2\n"), "p.yaml:2:1: a: given twice; first on line 1");
}

TEST(ConfigRefuses, AMissingFileAFolderAndAHugeFile) {
  const auto folder = std::filesystem::path(testing::TempDir());
  const auto missing = Config::load((folder / "nothing-here.yaml").string());
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message(),
            (folder / "nothing-here.yaml").string() + ": cannot be read: No such file or directory");
  EXPECT_EQ(missing.error().code(), ErrorCode::config);
  const auto directory = Config::load(folder.string());
  ASSERT_FALSE(directory);
  EXPECT_NE(directory.error().message().find("Is a directory"), std::string::npos) << directory.error().message();
  const auto huge_path = folder / "huge.yaml";
  std::ofstream(huge_path) << "a: " << std::string((1U << 20U) + 1, 'x');
  const auto huge = Config::load(huge_path.string());
  ASSERT_FALSE(huge);
  EXPECT_NE(huge.error().message().find("is this a pipeline file?"), std::string::npos);
  std::filesystem::remove(huge_path);
}

TEST(ConfigRefuses, EmptyFilesListsAndScalars) {
  for (const char* text : {"", "# only a comment\n", "---\n", "~\n"}) {
    EXPECT_EQ(refused(text), "p.yaml: is empty; a pipeline has a 'source' and a 'sink'") << text;
  }
  EXPECT_EQ(refused("- a\n"), "p.yaml:1:1: a pipeline file is a mapping of keys such as 'source' and 'sink'");
  EXPECT_EQ(refused("just text\n"), "p.yaml:1:1: a pipeline file is a mapping of keys such as 'source' and 'sink'");
}

TEST(ConfigRefuses, TabsAsIndentation) {
  EXPECT_EQ(refused("a:\n\tb: 1\n"), "p.yaml:2:3: cannot be read as YAML: a tab cannot indent a line; use spaces");
  EXPECT_NE(refused("a: 1\n\tb: 2\n").find("a tab cannot indent a line"), std::string::npos);
  EXPECT_EQ(parsed("a: [\n\t1, 2]\n").section("a").items().size(), 2U);  // within brackets it is only space
}

TEST(ConfigRefuses, AnchorsAliasesMergeKeysTagsAndDocuments) {
  EXPECT_EQ(refused("a: &x 1\nb: *x\n"),
            "p.yaml:1:4: anchors ('&name') are not supported; write the value where it is used\n"
            "p.yaml:2:4: aliases ('*name') are not supported; write the value out, or use a ${VARIABLE}");
  EXPECT_NE(refused("a:\n  <<: {b: 1}\n").find("p.yaml:2:3: merge keys ('<<') are not supported"), std::string::npos);
  EXPECT_EQ(refused("a: !!int 3\n"), "p.yaml:1:4: tags ('!name') are not supported; leave it out");
  EXPECT_EQ(refused("a: !SEKRET x\n"), "p.yaml:1:4: tags ('!name') are not supported; leave it out");
  EXPECT_EQ(refused("a: 1\n---\nb: 2\n"), "p.yaml:2:1: a second document begins here; one file is one pipeline");
  EXPECT_EQ(refused("? [a, b]\n: 1\n"), "p.yaml:1:3: a list or a section cannot be a key");
  EXPECT_EQ(refused(": 1\n"), "p.yaml:1:1: a key is missing in front of this ':'");
}

TEST(ConfigRefuses, BrokenSyntaxWithItsPlace) {
  EXPECT_EQ(refused("a: [1, 2\n"),
            "p.yaml:2:1: cannot be read as YAML: a '[' is not closed, or a line is indented less than those before it");
  EXPECT_NE(refused("a: b: c\n").find("p.yaml:1:5: cannot be read as YAML: a ':' cannot stand here"),
            std::string::npos);
  EXPECT_EQ(refused("a: @x\n"),
            "p.yaml:1:4: cannot be read as YAML: this character cannot begin a value; quote the value");
  EXPECT_EQ(refused("a: \"x\n"), "p.yaml:1:4: the quote that begins here is not closed");
  EXPECT_EQ(refused("a: 'it''s\n"), "p.yaml:1:4: the quote that begins here is not closed");
  EXPECT_EQ(parsed("a: 'it''s'\nb: \"\\\"\"\n").section("a").text(), "it's");
}

TEST(ConfigRefuses, VeryDeepNesting) {
  EXPECT_EQ(refused(std::string(100'000, '[')), "p.yaml: nested more than 32 levels deep");
  std::string deep = "a: ";
  for (int i = 0; i < 40; ++i) deep += "{k: ";
  deep += "1" + std::string(40, '}') + "\n";
  EXPECT_NE(refused(deep).find("nested more than 32 levels deep"), std::string::npos);
  EXPECT_EQ(parsed("a: {b: {c: {d: 1}}}\n").section("a.b.c.d").text(), "1");
}

TEST(ConfigRefuses, BytesThatAreNoText) {
  EXPECT_EQ(refused("a: \xFF\n"), "p.yaml:1:4: this is not UTF-8 text; save the file as UTF-8");
  EXPECT_EQ(refused(std::string_view("a: x\0y\n", 7)),
            "p.yaml:1:5: control character 0x00; write it as \"\\x00\" in double quotes if it is meant");
  EXPECT_NE(refused("a: 1\rb: 2\n").find("control character 0x0d"), std::string::npos);
  EXPECT_NE(refused("\xFF\xFE"
                    "a\0:\0")
                .find("not UTF-8"),
            std::string::npos);
  EXPECT_EQ(refused("a: \"\\N\"\n"),
            "p.yaml:1:4: an escape in this text makes no UTF-8; write the character itself, or \\u and four digits");
  EXPECT_EQ(parsed("\xEF\xBB\xBF"
                   "a: 1\r\nb: 2\r\n")
                .section("b")
                .where(),
            "p.yaml:2:4");  // a BOM and CRLF are fine
}

TEST(ConfigSet, MakesAndReplacesValues) {
  Config config;
  ASSERT_TRUE(config.set("source.s3.lanes", "8", "--set"));
  ASSERT_TRUE(config.set("source.s3.lanes", "9", "--set"));
  ASSERT_TRUE(config.set("source.s3.include", "[a, \"b$c\"]", "--set"));
  ASSERT_TRUE(config.set("source.s3.start_after", "", "--set"));
  ASSERT_TRUE(config.set("sink.s3.delimiter", "\"\\n\"", "--set"));
  ASSERT_TRUE(config.set("sink.s3.path_template", "${X}: #y", "--set"));
  EXPECT_EQ(config.section("source.s3.lanes").text(), "9");
  EXPECT_EQ(config.section("source.s3.lanes").where(), "--set");
  EXPECT_EQ(config.section("source.s3.include").items()[1].text(), "b$c");
  EXPECT_EQ(config.section("source.s3.start_after").kind(), Kind::scalar);
  EXPECT_EQ(config.section("sink.s3.delimiter").text(), "\n");
  EXPECT_EQ(config.section("sink.s3.path_template").text(), "${X}: #y");  // no variable and no YAML
}

TEST(ConfigSet, RefusesPathsThatLeadNowhere) {
  Config config = parsed("source: {s3: {url: x}}\nempty:\n");
  EXPECT_EQ(config.set("source.s3.url.more", "1", "--set").error().message(),
            "--set source.s3.url.more: 'source.s3.url' is not a section");
  for (const char* path : {"", ".", "a.", ".a", "a..b"}) EXPECT_FALSE(config.set(path, "1", "--set")) << path;
  EXPECT_FALSE(config.set("a", "[1, 2", "--set").has_value() && config.section("a").kind() != Kind::scalar);
  EXPECT_FALSE(config.set("a", "{b: 1, b: 2}", "--set"));
  EXPECT_TRUE(config.set("empty.key", "1", "--set"));
  EXPECT_EQ(config.section("empty.key").text(), "1");
}

TEST(ConfigToYaml, SecretsAreWrittenAsTheVariableTheyCameFromOrHidden) {
  const Config config = parsed("a: {key: ${KEY}, other: plain, id: x}\n", {{"KEY", "hunter2"}});
  const std::string yaml = config.to_yaml([](std::string_view path) { return path == "a.key" || path == "a.other"; });
  EXPECT_EQ(yaml, "a:\n  key: \"${KEY}\"\n  other: \"***\"\n  id: x\n");
}

TEST(ConfigToYaml, NeitherTheDefaultOfASecretNorTextBesideItIsShown) {
  const Config config =
      parsed("a: ${NOPE:-SEKRET}\nb: SEK${KEY}RET\nc: ${KEY:?SEKRET}\nd: ${KEY}${KEY:-SEKRET}\n", {{"KEY", "hunter2"}});
  EXPECT_EQ(config.to_yaml([](std::string_view) { return true; }),
            "a: \"${NOPE}\"\nb: \"***\"\nc: \"${KEY}\"\nd: \"${KEY}${KEY}\"\n");
}

TEST(ConfigToYaml, IsReadBackAsTheSameTree) {
  const Config config = parsed(
      "a: \"x\\ny\\t\\x01 \\\"q\\\" \\\\\"\nb: []\nc: {}\nd: [1, {e: f}, [g]]\nh: ~\ni: 'null'\nj: \"#x\"\nk: '- x'\n"
      "l: $$5 and $6\n'm n': ''\n");
  const std::string yaml = config.to_yaml(kNoSecrets);
  const Config back = parsed(yaml);
  EXPECT_EQ(back.to_yaml(kNoSecrets), yaml);
  EXPECT_EQ(back.section("a").text(), "x\ny\t\x01 \"q\" \\");
  EXPECT_EQ(back.section("d").items()[1].section("e").text(), "f");
  EXPECT_EQ(back.section("h").kind(), Kind::null);
  EXPECT_EQ(back.section("i").text(), "null");
  EXPECT_EQ(back.section("l").text(), "$5 and $6");
  EXPECT_EQ(back.section("m n").text(), "");
}

RC_GTEST_PROP(ConfigProperty, AnySetTextIsReadBackFromItsYaml, ()) {
  // Any Unicode text; built from code points, so that every file is valid UTF-8.
  const auto points = *rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 0x250));
  std::string text;
  for (const int point : points) {
    if (point < 0x80) {
      text += static_cast<char>(point);
    } else {
      text += static_cast<char>(0xC0 | (point >> 6));
      text += static_cast<char>(0x80 | (point & 0x3F));
    }
  }
  Config config;
  if (!config.set("a.b", text, "--set")) return;  // read as YAML, and broken
  const std::string value = config.section("a.b").text();
  const Config back = parsed(config.to_yaml(kNoSecrets));
  RC_ASSERT(back.section("a.b").text() == value);
}

TEST(NearestName, FindsWhatWasMeant) {
  const std::vector<std::string> known{"lanes", "url", "max_record_bytes", "compression"};
  EXPECT_EQ(nearest_name("lanez", known), "lanes");
  EXPECT_EQ(nearest_name("lnaes", known), "lanes");
  EXPECT_EQ(nearest_name("Lanes", known), "lanes");
  EXPECT_EQ(nearest_name("max-record-bytes", known), "max_record_bytes");
  EXPECT_EQ(nearest_name("max_record_size", known), "max_record_bytes");
  EXPECT_EQ(nearest_name("uri", known), "url");
  EXPECT_EQ(nearest_name("zzz", known), std::nullopt);
  EXPECT_EQ(nearest_name(std::string(100'000, 'x'), known), std::nullopt);
  EXPECT_EQ(nearest_name("x", {}), std::nullopt);
}

}  // namespace
}  // namespace millrace
