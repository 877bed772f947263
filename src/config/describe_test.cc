// SPDX-License-Identifier: Apache-2.0
// Describe: the three forms of one schema.
#include "millrace/config/describe.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace millrace {

enum class Mode { fast, careful };
template <>
struct EnumNames<Mode> {
  static constexpr std::pair<std::string_view, Mode> names[] = {
      {"fast", Mode::fast}, {"careful", Mode::careful}, {"slow", Mode::careful}};
};

namespace {

struct Part {
  std::string url;
  std::map<std::string, std::string> store;
};
struct Thing {
  std::uint64_t lanes = 4;
  ByteSize chunk{512U << 10U};
  Duration wait = std::chrono::seconds(90);
  Mode mode = Mode::careful;
  Secret key;
  std::string name;
  bool flag = true;
  std::vector<std::string> include;
  Part part;
};

const ComponentDescription& description() {
  static const Schema<Thing> schema = [] {
    Schema<Part> part("part", "");
    part.required("url", &Part::url, "Where.", {.example = "s3://b/k"});
    part.optional("store", &Part::store, "How to reach it.", {.secret = true});
    Schema<Thing> s("thing", "Does a thing | well.");
    s.optional("lanes", &Thing::lanes, "How many.", {.min = 1, .max = 4096});
    s.optional("chunk", &Thing::chunk, "How large.", {.min = 1});
    s.optional("wait", &Thing::wait, "How long.", {.aliases = {"delay"}});
    s.optional("mode", &Thing::mode, "How.");
    s.optional("key", &Thing::key, "Who.");
    s.optional("name", &Thing::name, "What.", {.default_text = "made up"});
    s.optional("flag", &Thing::flag, "Whether.");
    s.optional("include", &Thing::include, "Which.");
    s.nested("part", &Thing::part, part, "A part.", true);
    return s;
  }();
  return schema.description();
}

TEST(Describe, Text) {
  EXPECT_EQ(describe_text(description()),
            "thing\n"
            "  Does a thing | well.\n"
            "\n"
            "  lanes  (integer, 1 to 4096, default 4)\n"
            "      How many.\n"
            "  chunk  (bytes, at least 1, default 512KiB)\n"
            "      How large.\n"
            "  wait  (duration, default 1m30s)\n"
            "      How long.\n"
            "      Also written: delay\n"
            "  mode  (one of fast|careful, default careful)\n"
            "      How.\n"
            "  key  (string, secret)\n"
            "      Who.\n"
            "  name  (string, default made up)\n"
            "      What.\n"
            "  flag  (boolean, default true)\n"
            "      Whether.\n"
            "  include  (list)\n"
            "      Which.\n"
            "  part  (section, required)\n"
            "      A part.\n"
            "    url  (string, required)\n"
            "        Where.\n"
            "        Example: s3://b/k\n"
            "    store  (map, secret)\n"
            "        How to reach it.\n");
}

TEST(Describe, TextKeepsToTheWidth) {
  ComponentDescription component{"c", std::string(40, 'a') + " " + std::string(40, 'b') + " c d", {}};
  EXPECT_EQ(describe_text(component, 60), "c\n  " + std::string(40, 'a') + "\n  " + std::string(40, 'b') + " c d\n");
}

TEST(Describe, Markdown) {
  const std::string page = describe_markdown(description());
  EXPECT_NE(page.find("# thing\n\nDoes a thing | well.\n\n| Key | Type | Default | Meaning |\n|---|---|---|---|\n"
                      "| `lanes` | integer, 1 to 4096 | `4` | How many. |\n"),
            std::string::npos)
      << page;
  EXPECT_NE(page.find("| `wait` | duration | `1m30s` | How long. Also written: `delay` |\n"), std::string::npos)
      << page;
  EXPECT_NE(page.find("| `mode` | one of fast\\|careful | `careful` | How. |\n"), std::string::npos) << page;
  EXPECT_NE(page.find("\n### `part`\n\nA part.\n\n| Key |"), std::string::npos) << page;
  EXPECT_NE(page.find("| `part.url` | string | required | Where. Example: `s3://b/k` |\n"), std::string::npos) << page;
}

TEST(Describe, JsonSchema) {
  const auto schema = nlohmann::json::parse(describe_json_schema(description()));
  EXPECT_EQ(schema["title"], "thing");
  EXPECT_EQ(schema["additionalProperties"], false);
  EXPECT_EQ(schema["required"], nlohmann::json::array({"part"}));
  EXPECT_EQ(schema["properties"]["lanes"]["anyOf"][0],
            nlohmann::json({{"type", "integer"}, {"minimum", 1}, {"maximum", 4096}}));
  EXPECT_EQ(schema["properties"]["lanes"]["description"], "How many. Range: 1 to 4096. Default: 4.");
  EXPECT_EQ(schema["properties"]["mode"]["anyOf"][0]["enum"], nlohmann::json::array({"fast", "careful", "slow"}));
  EXPECT_EQ(schema["properties"]["key"]["writeOnly"], true);
  EXPECT_EQ(schema["properties"]["delay"], schema["properties"]["wait"]);
  EXPECT_EQ(schema["properties"]["part"]["required"], nlohmann::json::array({"url"}));
  EXPECT_EQ(schema["$defs"]["variable"]["type"], "string");
}

TEST(Describe, SecretsByPath) {
  EXPECT_TRUE(is_secret_option(description(), "key"));
  EXPECT_TRUE(is_secret_option(description(), "part.store"));
  EXPECT_TRUE(is_secret_option(description(), "part.store.anything"));
  EXPECT_FALSE(is_secret_option(description(), "part.url"));
  EXPECT_FALSE(is_secret_option(description(), "part"));
  EXPECT_FALSE(is_secret_option(description(), "nothing"));
  EXPECT_FALSE(is_secret_option(description(), "include[0]"));
}

}  // namespace
}  // namespace millrace
