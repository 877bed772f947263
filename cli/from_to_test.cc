// SPDX-License-Identifier: Apache-2.0
// --from and --to: the configuration that they stand for, and where the position is kept (ADR-0006).
#include "cli/from_to.h"

#include <gtest/gtest.h>

namespace millrace::cli {
namespace {

LoadedConfig loaded(InputArguments input) {
  auto result = load_config(input);
  EXPECT_TRUE(result) << (result ? "" : result.error().message());
  return result ? *std::move(result) : LoadedConfig{};
}

std::string refused(InputArguments input) {
  const auto result = load_config(input);
  return result ? "accepted" : result.error().message();
}

std::string yaml_of(const LoadedConfig& config) {
  return config.config.to_yaml([](std::string_view) { return false; });
}

TEST(FromTo, StandsForACopyByteForByte) {
  const LoadedConfig config = loaded({.file = {}, .from = "s3://in/exports/", .to = "s3://out/landing/", .set = {}});
  const std::string manifest = config.config.section("source.s3.checkpoint.url").text();
  EXPECT_EQ(yaml_of(config),
            "source:\n"
            "  s3:\n"
            "    url: \"s3://in/exports/\"\n"
            "    checkpoint:\n"
            "      url: \"" +
                manifest +
                "\"\n"
                "sink:\n"
                "  s3:\n"
                "    url: \"s3://out/landing/\"\n"
                "    path_template: \"{topic}\"\n"
                "    output_format: raw\n"
                "    delimiter: \"\\n\"\n"
                "    extension: ndjson\n");
  EXPECT_EQ(config.scratch_manifest, "");
  EXPECT_EQ(config.name, "--from s3://in/exports/ --to s3://out/landing/");
}

TEST(FromTo, TheOutputFollowsTheFormatOfTheSource) {
  const auto sink_of = [](std::vector<std::string> set) {
    const LoadedConfig config =
        loaded({.file = {}, .from = "s3://in/all.dat", .to = "s3://out/landing/", .set = std::move(set)});
    const ConfigSection sink = config.config.section("sink.s3");
    std::string all = sink.child("output_format").text();
    for (const char* key : {"wrap", "delimiter", "extension"}) {
      if (sink.child(key).exists()) all += " " + std::string(key) + "=" + sink.child(key).text();
    }
    return all;
  };
  EXPECT_EQ(sink_of({}), "raw delimiter=\n extension=dat");
  EXPECT_EQ(sink_of({"source.s3.format=lines"}), "raw delimiter=\n extension=dat");
  EXPECT_EQ(sink_of({"source.s3.format=raw"}), "raw delimiter= extension=dat");
  EXPECT_EQ(sink_of({"source.s3.format=raw", "sink.s3.delimiter=x"}), "raw delimiter=x extension=dat");
  for (const char* format : {"csv", "json_array"}) {
    const std::string set = std::string("source.s3.format=") + format;
    EXPECT_EQ(sink_of({set}), "json_lines wrap=false extension=ndjson");
    EXPECT_EQ(sink_of({set, "decode.raw={}"}), "raw delimiter=\n extension=dat");
    EXPECT_EQ(sink_of({set, "sink.s3.wrap=true"}), "json_lines wrap=true extension=ndjson");
    EXPECT_EQ(sink_of({set, "sink.s3.output_format=json_array"}), "json_array");
  }
}

TEST(FromTo, ThePositionLiesBesideTheOutputUnderADotName) {
  const auto manifest = [](const char* from, const char* to) {
    const auto url = manifest_url_beside(from, to);
    return url ? *url : url.error().message();
  };
  const std::string a = manifest("s3://in/exports/", "s3://out/landing/");
  EXPECT_EQ(a.substr(0, 27), "s3://out/.landing.millrace-");
  EXPECT_EQ(a.size(), std::string("s3://out/.landing.millrace-01234567.json").size());
  EXPECT_EQ(manifest("s3://in/exports/", "s3://out/landing"), a);     // the same place with and without the slash
  EXPECT_NE(manifest("s3://in/exports-2/", "s3://out/landing/"), a);  // another input has another position
  EXPECT_EQ(manifest("s3://in/exports/", "s3://out").substr(0, 19), "s3://out/.millrace-");
  EXPECT_EQ(manifest("file:///in/", "file:///data/deep/out/").substr(0, 34),
            "file:///data/deep/.out.millrace-" + manifest("file:///in/", "file:///o/").substr(20, 2));
  EXPECT_EQ(manifest("s3://in/x", "s3://out/a b/").substr(0, 23), "s3://out/.a b.millrace-");
}

TEST(FromTo, NeitherOutputNorPositionMayLieUnderTheSource) {
  EXPECT_NE(refused({.file = {}, .from = "file:///data/", .to = "file:///data/out/", .set = {}})
                .find("--to file:///data/out/ lies under --from file:///data/: what is written would be read as input"),
            std::string::npos);
  EXPECT_NE(refused({.file = {}, .from = "s3://b/in", .to = "s3://b/in-copy/", .set = {}}).find("lies under --from"),
            std::string::npos);
  EXPECT_NE(refused({.file = {}, .from = "s3://b/.o", .to = "s3://b/out/", .set = {}})
                .find("say where it may be: --set source.s3.checkpoint.url=URL"),
            std::string::npos);
  EXPECT_EQ(
      refused(
          {.file = {}, .from = "s3://b/.o", .to = "s3://b/out/", .set = {"source.s3.checkpoint.url=s3://c/m.json"}}),
      "accepted");
  EXPECT_EQ(refused({.file = {}, .from = "s3://b/in/", .to = "s3://b/in-copy/", .set = {}}), "accepted");
  EXPECT_EQ(refused({.file = {}, .from = "s3://a/in/", .to = "s3://b/in/", .set = {}}), "accepted");
}

TEST(FromTo, SetChangesAnything) {
  const LoadedConfig config =
      loaded({.file = {},
              .from = "file:///in/day.jsonl.gz",
              .to = "file:///out/",
              .set = {"sink.s3.output_format=json_lines", "pipeline.name=x", "source.s3.include=[\"*.gz\", b]"}});
  EXPECT_EQ(config.config.section("sink.s3.output_format").text(), "json_lines");
  EXPECT_FALSE(config.config.section("sink.s3.delimiter").exists());  // belongs to raw
  EXPECT_EQ(config.config.section("source.s3.include").items().size(), 2U);
  EXPECT_EQ(refused({.file = {}, .from = "file:///in/", .to = "-", .set = {"nonsense", "a..b=1"}}),
            "--set nonsense: write PATH=VALUE, as in source.s3.lanes=8\n"
            "--set a..b: a path is keys with dots between them, as in source.s3.lanes");
}

TEST(FromTo, TheManifestIsReachedAsTheSinkIs) {
  const LoadedConfig config = loaded({.file = {},
                                      .from = "file:///in/",
                                      .to = "s3://out/x/",
                                      .set = {"sink.s3.endpoint=http://127.0.0.1:9000", "sink.s3.path_style=true",
                                              "sink.s3.store.allow_http=true", "sink.s3.secret_access_key=\"[k]\""}});
  const ConfigSection store = config.config.section("source.s3.checkpoint.store");
  EXPECT_EQ(store.child("endpoint").text(), "http://127.0.0.1:9000");
  EXPECT_EQ(store.child("virtual_hosted_style_request").text(), "false");
  EXPECT_EQ(store.child("allow_http").text(), "true");
  EXPECT_EQ(store.child("secret_access_key").text(), "[k]");
}

TEST(FromTo, OutputsThatCannotBeGoneOnWithKeepNoPosition) {
  for (const char* to : {"-", "stdout", "blackhole", "blackhole:"}) {
    const LoadedConfig config = loaded({.file = {}, .from = "file:///in/", .to = to, .set = {}});
    EXPECT_FALSE(config.scratch_manifest.empty()) << to;
    EXPECT_EQ(config.config.section("source.s3.checkpoint.url").text(), "file://" + config.scratch_manifest);
    EXPECT_EQ(config.config.section("sink").keys().size(), 1U);
  }
  const LoadedConfig kept =
      loaded({.file = {}, .from = "file:///in/", .to = "-", .set = {"source.s3.checkpoint.url=file:///m.json"}});
  EXPECT_EQ(kept.scratch_manifest, "");
}

TEST(FromTo, ExtensionOfTheInput) {
  EXPECT_EQ(extension_of("s3://b/exports/"), "ndjson");
  EXPECT_EQ(extension_of("s3://b/exports"), "ndjson");
  EXPECT_EQ(extension_of("file:///in/day.jsonl"), "jsonl");
  EXPECT_EQ(extension_of("file:///in/day.jsonl.gz"), "jsonl");
  EXPECT_EQ(extension_of("file:///in/day.zst"), "ndjson");
  for (const std::string ending : {".gz", ".gzip", ".zst", ".zstd", ".bz2", ".xz", ".lz4"}) {
    EXPECT_EQ(extension_of("file:///in/day.jsonl" + ending), "jsonl") << ending;
    EXPECT_EQ(extension_of("file:///in/day" + ending), "ndjson") << ending;
    EXPECT_EQ(extension_of("file:///in/day.jsonl" + ending, /*as_stored=*/true), ending.substr(1)) << ending;
  }
  EXPECT_EQ(extension_of("file:///in/.hidden"), "ndjson");
  EXPECT_EQ(extension_of("s3://my.bucket"), "ndjson");
  EXPECT_EQ(extension_of("s3://b/2026.07/"), "ndjson");
  EXPECT_EQ(extension_of("file:///in/a.b c"), "ndjson");
}

}  // namespace
}  // namespace millrace::cli
