// SPDX-License-Identifier: Apache-2.0
// Options of the S3 source: the seed's keys with their defaults, what is refused and how it is said.
#include "connectors/s3/options.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>

#include "millrace/config/config.h"

namespace millrace::s3_source {
namespace {

ConfigSection section(const std::string& body) {
  std::string yaml = "source:\n  s3:\n";
  std::size_t begin = 0;
  while (begin < body.size()) {
    const std::size_t end = std::min(body.find('\n', begin), body.size());
    yaml += "    " + body.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  const auto config = Config::parse(yaml, "test.yaml", [](std::string_view) { return std::nullopt; });
  EXPECT_TRUE(config) << config.error().message();
  return config->section("source.s3");
}
std::string problem(const std::string& body) {
  const auto options = S3Source::schema().parse(section(body));
  if (options) return "accepted";
  EXPECT_EQ(options.error().code(), ErrorCode::config);
  return options.error().message();
}
constexpr const char* kLeast = "url: s3://b/in/\ncheckpoint: {url: \"s3://b/ck.json\"}\n";

TEST(S3SourceOptions, EveryKeyOfTheSeedHasItsDefault) {
  const auto options = S3Source::schema().parse(section(kLeast));
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(options->lanes, 4U);
  EXPECT_EQ(options->format, "ndjson");
  EXPECT_EQ(options->compression, ObjectCodec::auto_detect);
  EXPECT_TRUE(options->checkpoint.store.empty());
  EXPECT_EQ(options->checkpoint.timeout, std::chrono::seconds(10));
  EXPECT_EQ(options->checkpoint.owner_timeout, std::chrono::seconds(30));
  EXPECT_EQ(options->prefetch_bytes.bytes, 8'388'608U);
  EXPECT_EQ(options->chunk_bytes.bytes, 524'288U);
  EXPECT_EQ(options->max_record_bytes.bytes, 67'108'864U);
  EXPECT_EQ(options->requests_in_flight, 64U);
  EXPECT_EQ(options->on_empty, OnEmpty::warn);
  EXPECT_EQ(options->on_archived, OnArchived::fail);
  EXPECT_EQ(options->frozen, Frozen::below);
  EXPECT_EQ(options->zstd_window_log_max, 27);
  EXPECT_EQ(options->xz_memory_limit.bytes, 134'217'728U);
  EXPECT_TRUE(options->store.empty());
}

TEST(S3SourceOptions, EveryKeyIsRead) {
  const auto options = S3Source::schema().parse(section(R"(url: file:///data/in/
lanes: 2
format: ndjson
compression: zstd
checkpoint: {url: "s3://b/ck.json", store: {region: eu-west-2}, timeout: 3s, owner_timeout: 1m}
prefetch_bytes: 4MiB
chunk_bytes: 256KiB
max_record_bytes: 1MiB
requests_in_flight: 8
include: ["*.zst"]
exclude: ["tmp*"]
start_after: data/in/b
on_empty: fail
on_archived: skip
frozen: strict
zstd_window_log_max: 31
xz_memory_limit: 1GiB
name: exports
store: {})"));
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(options->compression, ObjectCodec::zstd);
  EXPECT_EQ(options->xz_memory_limit.bytes, 1'073'741'824U);
  EXPECT_EQ(options->checkpoint.store, (std::map<std::string, std::string>{{"region", "eu-west-2"}}));
  EXPECT_EQ(options->checkpoint.owner_timeout, std::chrono::minutes(1));
  EXPECT_EQ(options->chunk_bytes.bytes, 262'144U);
  EXPECT_EQ(options->include, std::vector<std::string>{"*.zst"});
  EXPECT_EQ(options->frozen, Frozen::strict);
  EXPECT_EQ(options->name, "exports");
}

TEST(S3SourceOptions, UnknownAndMissingKeysAreNamedWithTheirPlace) {
  EXPECT_NE(problem(std::string(kLeast) + "lane: 3").find("test.yaml:5:5"), std::string::npos)
      << problem(std::string(kLeast) + "lane: 3");
  EXPECT_NE(problem(std::string(kLeast) + "lane: 3").find("source.s3.lane"), std::string::npos);
  EXPECT_NE(problem(std::string(kLeast) + "lane: 3").find("lanes"), std::string::npos);
  EXPECT_NE(problem("url: s3://b/in/").find("checkpoint"), std::string::npos);
  EXPECT_NE(problem("checkpoint: {url: \"s3://b/c\"}").find("url"), std::string::npos);
  EXPECT_NE(problem(std::string(kLeast) + "lanes: 0").find("lanes"), std::string::npos);
  EXPECT_NE(problem(std::string(kLeast) + "lanes: 4097").find("4096"), std::string::npos);
}

TEST(S3SourceOptions, AShardComesFromTheEnvironmentAndIsCheckedWithItsPlace) {
  const auto parsed = [](const std::string& shard, std::optional<std::string> index) {
    const auto config =
        Config::parse("s3:\n  url: s3://b/in/\n  checkpoint: {url: \"s3://b/ck.json\"}\n  shard: " + shard, "job.yaml",
                      [index](std::string_view name) { return name == "JOB_COMPLETION_INDEX" ? index : std::nullopt; });
    if (!config) return "none: " + config.error().message();
    const auto options = S3Source::schema().parse(config->section("s3"));
    if (!options) return options.error().message();
    return options->shard ? Shard{options->shard->index, options->shard->count}.describe() : "everything";
  };
  EXPECT_EQ(parsed("{index: ${JOB_COMPLETION_INDEX}, count: 3}", "2"), "2 of 3");
  EXPECT_EQ(parsed("{index: ${JOB_COMPLETION_INDEX:-0}, count: 3}", std::nullopt), "0 of 3");
  EXPECT_EQ(parsed("{index: ${JOB_COMPLETION_INDEX}, count: 3}", "3"),
            "job.yaml:4:18: s3.shard.index: 3 is not in 0 to 2, as count is 3");
  const auto names = [&](const std::string& problem, const std::string& place, const std::string& key) {
    return problem.find(place) != std::string::npos && problem.find(key) != std::string::npos;
  };
  EXPECT_PRED3(names, parsed("{index: ${JOB_COMPLETION_INDEX}, count: 3}", "-1"), "job.yaml:4:18", "s3.shard.index");
  EXPECT_PRED3(names, parsed("{index: ${JOB_COMPLETION_INDEX}, count: 3}", "x"), "job.yaml:4:18", "s3.shard.index");
  EXPECT_PRED3(names, parsed("{index: 0, count: 0}", ""), "job.yaml:4:28", "s3.shard.count");
  EXPECT_PRED3(names, parsed("{index: 0, count: 65537}", ""), "job.yaml:4:28", "65536");
  EXPECT_PRED3(names, parsed("{index: 0}", ""), "job.yaml:4:", "s3.shard.count");
  EXPECT_PRED3(names, parsed("{index: 0, count: 2, of: 3}", ""), "job.yaml:4:", "s3.shard.of");
  // Made in code they meet the same bounds.
  S3SourceOptions options;
  options.url = "s3://b/in/";
  options.checkpoint.url = "s3://b/ck.json";
  for (const auto& [index, count] : {std::pair(3U, 3U), std::pair(0U, 0U), std::pair(0U, 65537U)}) {
    options.shard = S3SourceOptions::Shard{index, count};
    EXPECT_FALSE(settle(options));
  }
}

TEST(S3SourceOptions, AShardKeepsAManifestOfItsOwn) {
  S3SourceOptions options;
  options.url = "s3://b/ck/exports.s";
  options.checkpoint.url = "s3://b/ck/exports.json";
  EXPECT_EQ(settle(options)->checkpoint_url.to_string(), "s3://b/ck/exports.json");
  // This name lies under the prefix, though that of the file does not.
  options.shard = S3SourceOptions::Shard{1, 3};
  EXPECT_NE(settle(options).error().message().find("exports.shard-1-of-3.json lies under the source's own prefix"),
            std::string::npos);
  options.url = "s3://b/in/";
  const auto settings = settle(options);
  EXPECT_EQ(settings->checkpoint_url.to_string(), "s3://b/ck/exports.shard-1-of-3.json");
  EXPECT_EQ(settings->checkpoint_of({2, 3}).to_string(), "s3://b/ck/exports.shard-2-of-3.json");
  options.checkpoint.url = "s3://b/ck/";
  EXPECT_NE(settle(options).error().message().find("names no object"), std::string::npos);
}

// It would leave out nothing, or everything; a file's key has no first slash.
TEST(S3SourceOptions, StartAfterIsAKeyBelowTheUrl) {
  S3SourceOptions options;
  options.url = "file:///data/in/";
  options.checkpoint.url = "file:///data/ck.json";
  for (const char* key : {"b.ndjson", "in/b", "/data/in/b", "file:///data/in/b", "data/inner"}) {
    options.start_after = key;
    const auto settings = settle(options);
    ASSERT_FALSE(settings) << key;
    EXPECT_NE(settings.error().message().find("keys begin with 'data/in/' here"), std::string::npos);
  }
  options.start_after = "data/in/b";
  EXPECT_TRUE(settle(options));
}

TEST(S3SourceOptions, TheManifestMayNotLieUnderThePrefix) {
  EXPECT_NE(problem("url: s3://b/in/\ncheckpoint: {url: \"s3://b/in/ck.json\"}").find("under the source's own prefix"),
            std::string::npos);
  // A prefix is a string.
  EXPECT_NE(problem("url: s3://b/in\ncheckpoint: {url: \"s3://b/in-checkpoints/ck.json\"}")
                .find("under the source's own prefix"),
            std::string::npos);
  EXPECT_NE(problem("url: s3://b/\ncheckpoint: {url: \"s3://b/ck.json\"}").find("under the source's own prefix"),
            std::string::npos);
  EXPECT_EQ(problem("url: s3://b/in/\ncheckpoint: {url: \"s3://other/in/ck.json\"}"), "accepted");
  EXPECT_EQ(problem("url: s3://b/in/\ncheckpoint: {url: \"file:///in/ck.json\"}"), "accepted");
  EXPECT_NE(problem("url: s3://b/in/\ncheckpoint: {url: \"s3://b/ck/\"}").find("names no object"), std::string::npos);
}

// A bucket of the same name on another server is another bucket.
TEST(S3SourceOptions, TheManifestMayLieUnderThePrefixOnAnotherServer) {
  const auto with_endpoints = [](const std::string& source, const std::string& checkpoint) {
    return problem("url: s3://b/in/\nstore: {" + source + "}\ncheckpoint: {url: \"s3://b/in/ck.json\", store: {" +
                   checkpoint + "}}");
  };
  EXPECT_EQ(with_endpoints("endpoint: \"https://one.test\"", "endpoint: \"https://two.test\""), "accepted");
  EXPECT_EQ(with_endpoints("", "endpoint: \"https://two.test\""), "accepted");
  for (const char* same : {"endpoint: \"https://ONE.test:443/\", region: x", ""}) {
    EXPECT_NE(with_endpoints("endpoint: \"https://one.test\"", same).find("under the source's own prefix"),
              std::string::npos)
        << same;
  }
}

TEST(S3SourceOptions, StoreOptionsThatCannotWorkAreRefusedBeforeAnythingIsOpened) {
  const std::string no_domain = "{endpoint: \"http://127.0.0.1:9\", virtual_hosted_style_request: \"true\"}";
  EXPECT_NE(problem(std::string(kLeast) + "store: " + no_domain).find("source.s3.store: "), std::string::npos);
  EXPECT_NE(problem("url: s3://b/in/\ncheckpoint: {url: \"s3://b/ck.json\", store: " + no_domain + "}")
                .find("source.s3.checkpoint.store: "),
            std::string::npos);
  EXPECT_NE(problem(std::string(kLeast) + "store: {s3_express: yes}").find("not available yet"), std::string::npos);
}

TEST(S3SourceOptions, BucketKeysAndUnknownOnesInStoreAreRefusedByName) {
  for (const char* key : {"bucket", "aws_bucket", "Bucket_Name", "AWS-BUCKET"}) {
    EXPECT_NE(problem(std::string(kLeast) + "store: {" + key + ": x}").find("source.s3.store"), std::string::npos)
        << key;
  }
  EXPECT_NE(problem(std::string(kLeast) + "store: {reigon: x}").find("region"), std::string::npos);
}

TEST(S3SourceOptions, KeysThatContradictEachOther) {
  EXPECT_NE(problem(std::string(kLeast) + "prefetch_bytes: 1KiB").find("less than one chunk"), std::string::npos);
  EXPECT_NE(problem(std::string(kLeast) + "chunk_bytes: 0").find("chunk_bytes"), std::string::npos);
  EXPECT_NE(problem(std::string(kLeast) + "format: xml")
                .find("'xml' is not a format; known: ndjson, lines, json_array, csv, raw"),
            std::string::npos);
  EXPECT_NE(problem(std::string(kLeast) + "include: [\"[\"]").find("without a ]"), std::string::npos);
  EXPECT_NE(problem("url: memory://x\ncheckpoint: {url: \"s3://b/c\"}").find("source.s3.url"), std::string::npos);
}

TEST(S3SourceOptions, AllProblemsAreToldTogether) {
  const std::string text =
      problem("url: s3://b/in/\ncheckpoint: {url: \"s3://b/in/c\"}\nformat: xml\nprefetch_bytes: 1KiB");
  for (const char* part : {"checkpoint.url", "format", "prefetch_bytes"})
    EXPECT_NE(text.find(part), std::string::npos) << part;
}

TEST(S3SourceOptions, OptionsMadeInCodeMeetTheSameRules) {
  S3SourceOptions options;
  options.url = "s3://b/in/";
  options.checkpoint.url = "s3://b/ck.json";
  EXPECT_TRUE(settle(options));
  for (const auto& change : std::vector<std::function<void(S3SourceOptions&)>>{
           [](auto& o) { o.lanes = 0; }, [](auto& o) { o.lanes = 5000; }, [](auto& o) { o.requests_in_flight = 0; },
           [](auto& o) { o.chunk_bytes = {0}; }, [](auto& o) { o.zstd_window_log_max = 32; },
           [](auto& o) { o.zstd_window_log_max = -1; }, [](auto& o) { o.xz_memory_limit = {1000}; },
           [](auto& o) { o.checkpoint.timeout = Duration(0); }, [](auto& o) { o.prefetch_bytes = {UINT64_MAX / 4}; },
           [](auto& o) { o.url.clear(); }}) {
    S3SourceOptions changed = options;
    change(changed);
    const auto settings = settle(changed);
    ASSERT_FALSE(settings);
    EXPECT_EQ(settings.error().code(), ErrorCode::config);
  }
}

// A run writes it, and `millrace verify` reads it, where this says.
TEST(S3SourceOptions, AReceiptGoesToAStoreThatIsInUseUnlessItHasOptionsOfItsOwn) {
  using enum Settings::StoreRole;
  const auto role = [](const std::string& url, std::map<std::string, std::string> store = {}) {
    S3SourceOptions options;
    options.url = "s3://b/in/";
    options.checkpoint.url = "s3://ck/m.json";
    options.receipt = {url, std::move(store)};
    const auto settings = settle(options);
    EXPECT_TRUE(settings) << settings.error().message();
    return settings->role_of_receipt(settings->receipt_url);
  };
  EXPECT_EQ(role("s3://b/r/r.ndjson"), source);
  EXPECT_EQ(role("s3://ck/r.ndjson"), checkpoint);
  EXPECT_EQ(role("s3://other/r.ndjson"), own);
  EXPECT_EQ(role("s3://b/r/r.ndjson", {{"region", "eu-west-1"}}), own);
  EXPECT_EQ(role("s3://ck/r.ndjson", {{"region", "eu-west-1"}}), own);
}

TEST(S3SourceOptions, TheSourcesStoreOptionsHoldForAManifestInTheSameBucket) {
  S3SourceOptions options;
  options.url = "s3://b/in/";
  options.checkpoint.url = "s3://b/ck.json";
  options.store = {{"region", "eu-west-2"}};
  EXPECT_TRUE(settle(options)->one_store);
  EXPECT_EQ(settle(options)->checkpoint_store.get("region"), "eu-west-2");
  options.checkpoint.store = {{"region", "us-east-1"}};
  EXPECT_FALSE(settle(options)->one_store);
  EXPECT_EQ(settle(options)->checkpoint_store.get("region"), "us-east-1");
  options.checkpoint = {.url = "s3://other/ck.json"};
  EXPECT_FALSE(settle(options)->one_store);
  EXPECT_FALSE(settle(options)->checkpoint_store.has("region"));
}

TEST(S3SourceOptions, TheNameComesFromTheIdentity) {
  S3SourceOptions options;
  options.url = "s3://b/in/";
  options.checkpoint.url = "s3://b/ck.json";
  const std::string name = settle(options)->name;
  EXPECT_EQ(name.size(), 11U);
  EXPECT_TRUE(name.starts_with("s3-"));
  EXPECT_EQ(settle(options)->name, name);
  options.lanes = 8;
  options.checkpoint.url = "s3://b/other.json";
  EXPECT_EQ(settle(options)->name, name) << "lanes and manifest do not identify the source";
  options.url = "s3://b/in2/";
  EXPECT_NE(settle(options)->name, name);
  options.name = "mine";
  EXPECT_EQ(settle(options)->name, "mine");
}

TEST(S3SourceOptions, StoreOptionsSayWhenToGiveUp) {
  S3SourceOptions options;
  options.url = "s3://b/in/";
  options.checkpoint.url = "s3://b/ck.json";
  EXPECT_EQ(settle(options)->retry.tries, 8);
  EXPECT_EQ(settle(options)->retry.patience, std::chrono::minutes(3));
  for (const StoreOptions::Known& known : StoreOptions::known()) {  // as it is described
    if (known.name == "max_retries") {
      EXPECT_EQ(known.default_text, "7");
    } else if (known.name == "retry_timeout") {
      EXPECT_EQ(known.default_text, "3m");
    }
  }
  options.store = {{"max_retries", "2"}, {"retry_timeout", "5s"}};
  EXPECT_EQ(settle(options)->retry.tries, 3);
  EXPECT_EQ(settle(options)->retry.patience, std::chrono::seconds(5));
  options.store = {{"retry_timeout", "1m30s"}};
  EXPECT_EQ(settle(options)->retry.patience, std::chrono::seconds(90));
  EXPECT_FALSE(settle(options)->retry.tries_are_final);
  options.store = {{"max_retries", "0"}};
  EXPECT_EQ(settle(options)->retry.tries, 1);
  EXPECT_TRUE(settle(options)->retry.tries_are_final);
}

TEST(S3SourceOptions, StoresThatAreOnlyWrittenBesideTakeNoRetries) {
  for (const std::string name : {"max_retries", "retry_timeout"}) {
    const std::string value = name == "max_retries" ? "3" : "1m";
    S3SourceOptions options;
    options.url = "s3://b/in/";
    options.checkpoint.url = "s3://c/ck.json";
    options.checkpoint.store = {{"AWS_" + name, value}};
    EXPECT_NE(settle(options).error().message().find("source.s3.checkpoint.store: " + name + " has no effect here"),
              std::string::npos)
        << settle(options).error().message();
    options.checkpoint.store = {};
    options.receipt.url = "s3://c/receipt.ndjson";
    options.receipt.store = {{name, value}};
    EXPECT_NE(settle(options).error().message().find("receipt.store: " + name + " has no effect here"),
              std::string::npos)
        << settle(options).error().message();
  }
}

TEST(S3SourceOptions, TheDescriptionSaysEverythingForEachKey) {
  for (const OptionDescription& option : S3Source::schema().description().options) {
    EXPECT_FALSE(option.meaning.empty()) << option.name;
    EXPECT_FALSE(option.type.empty()) << option.name;
  }
  EXPECT_EQ(S3Source::kind().name, "s3");
  EXPECT_TRUE(S3Source::kind().validate(section(kLeast)));
  EXPECT_FALSE(S3Source::kind().validate(section("url: s3://b/")));
}

TEST(S3SourceOptions, SizesAndTimesAreReadStrictlyAndNamedByTheirPlace) {
  const std::string least = kLeast;  // two lines, below two others
  const auto options =
      S3Source::schema().parse(section(least + "min_size: 1KiB\nmax_size: 5GiB\nmodified_after: 2026-07-01T00:00:00Z\n"
                                               "modified_before: \"2026-07-02T00:00:00+02:00\"\n"));
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(options->min_size->bytes, 1024U);
  EXPECT_EQ(options->max_size->bytes, 5'368'709'120U);
  const auto settings = settle(*options);
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->limits.modified_before, 1'782'943'200'000'000);
  const auto refused = [&](const std::string& body, const std::vector<std::string>& parts) {
    const std::string text = problem(least + body);
    for (const auto& part : parts) EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  };
  refused("modified_after: 2026-07-01\n",
          {"test.yaml:5:21", "source.s3.modified_after: '2026-07-01' is no time of RFC 3339"});
  refused("lanes: 2\nmodified_before: tomorrow\n", {"test.yaml:6:22", "source.s3.modified_before: 'tomorrow'"});
  refused("min_size: -1\n", {"test.yaml:5:", "source.s3.min_size"});
  refused("max_size: many\n", {"test.yaml:5:", "source.s3.max_size"});
  refused("min_size: 2MiB\nmax_size: 1MiB\n",
          {"test.yaml:6:15", "source.s3.max_size: 1MiB is less than min_size: 2MiB"});
  refused("modified_after: 2026-07-01T00:00:00Z\nmodified_before: 2026-07-01T02:00:00+02:00\n",
          {"test.yaml:6:", "source.s3.modified_before: 2026-07-01T02:00:00+02:00 is not later than modified_after"});
}

}  // namespace
}  // namespace millrace::s3_source
