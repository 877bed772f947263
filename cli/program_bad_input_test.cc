// SPDX-License-Identifier: Apache-2.0
// What people get wrong, one row each, with the built program: the message names the thing, the cause and the way out;
// the exit code is the documented one; nothing is committed past it; and once the cause is gone, another run brings
// every record.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>

#include "cli/program_run.h"
#include "tests/s3_fault_server/fault_server.h"

namespace millrace::cli_test {
namespace {

using millrace::testing::FaultServer;
using ::testing::HasSubstr;
using ::testing::Not;

std::string lines(const std::string& name, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += fmt::format("{{\"{}\":{}}}\n", name, i);
  return text;
}

std::string gzip_of(const ScratchFolder& folder, const std::string& text) {
  const std::string plain = folder.write("plain", text);
  EXPECT_EQ(std::system(fmt::format("gzip -n -c {0} > {0}.gz", plain).c_str()), 0);
  return folder.files(".").at("plain.gz");
}

constexpr const char* kPipeline =
    "source:\n"
    "  s3:\n"
    "    lanes: 2\n"
    "    url: {in}\n"
    "    checkpoint: {url: {m}}\n"
    "sink:\n"
    "  s3: {url: {out}, output_format: raw, delimiter: \"\\n\"}\n";

/// A backfill from in/ (or a bucket's in/) to out/, with its position in m.json, and what a person does to it.
struct Job {
  Job() {
    feed("a.ndjson", lines("a", 10));
    feed("b.ndjson", lines("b", 10));
  }
  void feed(const std::string& name, const std::string& text) {
    folder.write("in/" + name, text);
    wanted += text;
  }
  /// The same objects in a bucket of its own.
  void serve() {
    server = *FaultServer::start();
    for (const auto& [name, bytes] : folder.files("in")) server->put_object("bucket", "in/" + name, bytes);
    set("source.s3.url", "s3://bucket/in/");
    set("source.s3.store.endpoint", server->endpoint());
    set("source.s3.store.region", "us-east-1");
    set("source.s3.store.access_key_id", "AKIDEXAMPLE");
    set("source.s3.store.secret_access_key", server->options().secret_key);
  }
  void set(const std::string& path, const std::string& value) { settings[path] = value; }
  [[nodiscard]] std::vector<std::string> words(std::vector<std::string> more = {}) const {
    std::vector<std::string> all{"run", file()};
    for (const auto& [path, value] : settings) all.insert(all.end(), {"--set", path + "=" + value});
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  [[nodiscard]] std::string file() const { return (folder.path() / "p.yaml").string(); }
  Ended run(const std::vector<std::string>& more = {}) {
    if (!yaml.empty()) folder.write("p.yaml", spelled(yaml));
    return millrace(words(more));
  }
  /// With the job's own names in place of {in}, {out}, {m}, {file}.
  [[nodiscard]] std::string spelled(std::string text) const {
    const std::pair<std::string, std::string> names[] = {{"{in}", folder.url("in/")},
                                                         {"{out}", folder.url("out/")},
                                                         {"{m}", folder.url("m.json")},
                                                         {"{file}", file()},
                                                         {"{endpoint}", server ? server->endpoint().substr(7) : ""}};
    for (const auto& [name, value] : names) {
      for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + value.size())) {
        text.replace(at, name.size(), value);
      }
    }
    return text;
  }
  [[nodiscard]] std::string written() const {
    std::string all;
    for (const auto& [name, bytes] : folder.files("out")) all += bytes;
    return all;
  }
  [[nodiscard]] std::string manifest() const {
    const auto files = folder.files(".");
    return files.contains("m.json") ? files.at("m.json") : "";
  }

  ScratchFolder folder;
  std::string yaml = kPipeline;
  std::map<std::string, std::string> settings;
  std::string wanted;  ///< what out/ must hold in the end
  std::unique_ptr<FaultServer> server;
};

void replace(std::string& text, const std::string& from, const std::string& to) {
  ASSERT_NE(text.find(from), std::string::npos);
  text.replace(text.find(from), from.size(), to);
}

std::set<std::string> split(const std::string& text) {
  std::set<std::string> all;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    all.insert(text.substr(at, end - at));
    at = end + 1;
  }
  return all;
}

/// The folder stands there, with nothing in it; and as it was.
void empty_input(Job& job) {
  std::filesystem::rename(job.folder.path() / "in", job.folder.path() / "later");
  std::filesystem::create_directory(job.folder.path() / "in");
}
void fill_input(Job& job) {
  std::filesystem::remove_all(job.folder.path() / "in");
  std::filesystem::rename(job.folder.path() / "later", job.folder.path() / "in");
}

struct BadInput {
  const char* name;
  std::function<void(Job&)> spoil;
  int code;
  std::vector<const char*> says;          ///< the thing, the cause, the way out
  std::function<void(Job&)> mend;         ///< follows the advice
  std::vector<std::string> again_with{};  ///< words the advice adds to the next run
  bool moves_records = false;             ///< what is good is written before the bad is met
};
void PrintTo(const BadInput& bad, std::ostream* out) { *out << bad.name; }

class BadInputs : public ::testing::TestWithParam<BadInput> {};

TEST_P(BadInputs, IsSaidAndNothingIsLost) {
  const BadInput& bad = GetParam();
  Job job;
  bad.spoil(job);
  const std::string written = job.written();
  const std::string kept = job.manifest();
  const auto secret = job.settings.find("source.s3.store.secret_access_key");

  const Ended ended = job.run();
  EXPECT_EQ(ended.signal, 0);
  EXPECT_EQ(ended.code, bad.code) << ended.err;
  EXPECT_EQ(ended.out, "");
  for (const char* part : bad.says) EXPECT_THAT(ended.err, HasSubstr(job.spelled(part)));
  if (secret != job.settings.end()) {
    EXPECT_THAT(ended.err, Not(HasSubstr(secret->second)));
  }
  const std::string complete = "\"complete\": true";
  if (bad.moves_records) {
    EXPECT_THAT(job.manifest(), Not(HasSubstr(complete)));
  } else {
    EXPECT_EQ(job.written(), written);
    EXPECT_EQ(bad.code == 0 ? kept : job.manifest(), kept);
  }

  bad.mend(job);
  const Ended again = job.run(bad.again_with);
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("Completed after "));
  EXPECT_EQ(split(job.written()), split(job.wanted));
  EXPECT_THAT(job.manifest(), HasSubstr(complete));
}

/// A run that ends with its position kept in the middle: the second of two objects is bad.
void stop_half_way(Job& job) {
  const std::string good = job.folder.files("in").at("b.ndjson");
  job.set("source.s3.lanes", "1");
  job.set("source.s3.compression", "none");
  job.set("source.s3.max_record_bytes", "20");
  job.folder.write("in/b.ndjson", std::string(100, 'x') + "\n");
  EXPECT_EQ(job.run().code, 1);
  EXPECT_THAT(job.manifest(), HasSubstr("a.ndjson"));
  job.folder.write("in/b.ndjson", good);
}

const BadInput kBadInputs[] = {
    {"UnknownKey",
     [](Job& job) { replace(job.yaml, "lanes", "lanez"); },
     2,
     {"{file}:3:5: source.s3.lanez: unknown key; did you mean 'lanes'?"},
     [](Job& job) { replace(job.yaml, "lanez", "lanes"); }},
    {"WrongType",
     [](Job& job) { replace(job.yaml, "lanes: 2", "lanes: two"); },
     2,
     {"{file}:3:12: source.s3.lanes: expects an integer, found 'two'"},
     [](Job& job) { replace(job.yaml, "two", "2"); }},
    {"DuplicateKey",
     [](Job& job) { replace(job.yaml, "    url", "    lanes: 3\n    url"); },
     2,
     {"{file}:4:5: source.s3.lanes: given twice; first on line 3"},
     [](Job& job) { replace(job.yaml, "    lanes: 3\n", ""); }},
    {"MissingFile",
     [](Job& job) { job.yaml.clear(); },
     2,
     {"{file}: cannot be read: No such file or directory"},
     [](Job& job) { job.yaml = kPipeline; }},
    {"EmptyPrefix",
     empty_input,
     0,
     {"warn", "no object to read under {in}", "0 keys listed", "check the url"},
     fill_input},
    {"EmptyPrefixThatMayNotBe",
     [](Job& job) {
       empty_input(job);
       job.set("source.s3.on_empty", "fail");
     },
     1,
     {"no object to read under {in}", "0 keys listed", "check the url", "on_empty: warn"},
     fill_input},
    {"MissingFolder",
     [](Job& job) { std::filesystem::rename(job.folder.path() / "in", job.folder.path() / "later"); },
     1,
     {"there is no folder", "{in} has nothing to read", "check the path"},
     [](Job& job) { std::filesystem::rename(job.folder.path() / "later", job.folder.path() / "in"); }},
    {"TruncatedGzip",
     [](Job& job) {
       const std::string whole = gzip_of(job.folder, lines("c", 2000));
       job.folder.write("in/c.ndjson.gz", whole.substr(0, whole.size() / 2));
     },
     1,
     {"in/c.ndjson.gz' (gzip)", "truncated: it ends after", "stored_offset=", "put an undamaged copy in its place"},
     [](Job& job) {
       job.folder.write("in/c.ndjson.gz", gzip_of(job.folder, lines("c", 2000)));
       job.wanted += lines("c", 2000);
     },
     {"--reset", "--yes"},
     true},
    {"LineOverTheLimit",
     [](Job& job) {
       job.feed("c.ndjson", "{\"c\":1}\n{\"c\":\"" + std::string(500, 'x') + "\"}\n");
       job.set("source.s3.max_record_bytes", "100");
     },
     1,
     {"in/c.ndjson'", "line 2", "100", "max_record_bytes"},
     [](Job& job) { job.set("source.s3.max_record_bytes", "1000"); },
     {},
     true},
    {"ManifestUnderThePrefix",
     [](Job& job) { replace(job.yaml, "{m}", "{in}m.json"); },
     2,
     {"{file}:5:23: source.s3.checkpoint.url: {in}m.json lies under the source's own prefix {in}",
      "keep the manifest elsewhere"},
     [](Job& job) { replace(job.yaml, "{in}m.json", "{m}"); }},
    {"ListingUnderThePrefix",
     [](Job& job) { job.set("source.s3.url", job.folder.url("m.lis")); },
     2,
     {"checkpoint.url: the listing that is kept beside {m}", "m.listing.zst", "keep the manifest in another folder"},
     [](Job& job) { job.settings.clear(); }},
    {"ManifestOfAnotherJob",
     [](Job& job) {
       EXPECT_EQ(job.run().code, 0);
       job.folder.write("other/o.ndjson", lines("o", 5));
       job.wanted += lines("o", 5);
       job.set("source.s3.url", job.folder.url("other/"));
     },
     1,
     {"manifest {m}: url was {in} and is ", "other/ now", "--reset or give another checkpoint.url"},
     [](Job& job) { job.set("source.s3.checkpoint.url", job.folder.url("other.json")); }},
    {"ChangedLanes",
     [](Job& job) {
       stop_half_way(job);
       job.set("source.s3.lanes", "2");
     },
     1,
     {"manifest {m}: lanes was 1 and is 2 now", "Set it back"},
     [](Job& job) { job.set("source.s3.lanes", "1"); }},
    {"OverwrittenObject",
     [](Job& job) {
       stop_half_way(job);
       job.feed("a.ndjson", lines("a", 10) + lines("again", 2));
     },
     1,
     {"manifest {m}: lane 0 is committed", "in/a.ndjson') ETag was ", "2 changed (", "Put them back",
      "start over with --reset"},
     [](Job&) {},
     {"--reset", "--yes"}},
    {"WrongCredentials",
     [](Job& job) {
       job.serve();
       job.set("source.s3.store.secret_access_key", "hunter2hunter2hunter2hunter2hunter2hunt");
     },
     1,
     {"listing s3://bucket/in/", "SignatureDoesNotMatch", "secret_access_key"},
     [](Job& job) { job.set("source.s3.store.secret_access_key", job.server->options().secret_key); }},
    {"NoSuchBucket",
     [](Job& job) {
       job.serve();
       job.set("source.s3.url", "s3://no-such-bucket/in/");
     },
     1,
     {"listing s3://no-such-bucket/in/", "NoSuchBucket", "check"},
     [](Job& job) { job.set("source.s3.url", "s3://bucket/in/"); }},
    {"UnreachableEndpoint",
     [](Job& job) {
       job.serve();
       job.set("source.s3.store.endpoint", "http://127.0.0.1:1");
       job.set("source.s3.store.max_retries", "1");
     },
     1,
     {"listing s3://bucket/in/", "connect to 127.0.0.1 port 1", "check store.endpoint and that it is up",
      "after 2 tries"},
     [](Job& job) { job.set("source.s3.store.endpoint", job.server->endpoint()); }},
};
INSTANTIATE_TEST_SUITE_P(Rows, BadInputs, ::testing::ValuesIn(kBadInputs),
                         [](const auto& row) { return std::string(row.param.name); });

// With every default: what is waited for is said at the first failure, and the run can be stopped while it waits.
TEST(BadInput, AnUnreachableEndpointIsSaidWhileItIsWaitedFor) {
  Job job;
  job.serve();
  job.set("source.s3.store.endpoint", "http://127.0.0.1:1");
  job.folder.write("p.yaml", job.spelled(job.yaml));
  Child child(job.words());
  ASSERT_TRUE(eventually([&] { return child.err().find("page 1 failed; trying again") != std::string::npos; }))
      << child.err();
  EXPECT_THAT(child.err(), HasSubstr("listing url=s3://bucket/in/ at=http://127.0.0.1:1"));
  EXPECT_THAT(child.err(), HasSubstr("endpoint=http://127.0.0.1:1"));
  child.signal(SIGTERM);
  const Ended ended = child.wait();
  EXPECT_EQ(ended.code, 3) << ended.err;
  EXPECT_EQ(job.written(), "");
  EXPECT_EQ(job.manifest(), "");
}

// An endpoint out of the environment is named like one that was given.
TEST(BadInput, AnEndpointOfTheEnvironmentIsNamed) {
  Job job;
  job.serve();
  job.settings.erase("source.s3.store.endpoint");
  job.folder.write("p.yaml", job.spelled(job.yaml));
  Child child(job.words(), {{"AWS_ENDPOINT_URL", job.server->endpoint()}});
  const Ended ended = child.wait();
  EXPECT_THAT(ended.err, HasSubstr("listing url=s3://bucket/in/ at=" + job.server->endpoint()));
}

// One that takes connections and never answers says as much before anything has failed.
TEST(BadInput, ASilentEndpointIsNamedBeforeItFails) {
  Job job;
  job.serve();
  job.server->set_latency(std::chrono::hours(1));
  job.folder.write("p.yaml", job.spelled(job.yaml));
  Child child(job.words());
  ASSERT_TRUE(job.server->wait_for("ListObjectsV2", 1));
  EXPECT_THAT(child.err(), HasSubstr("listing url=s3://bucket/in/ at=" + job.server->endpoint()));
  child.signal(SIGTERM);
  EXPECT_EQ(child.wait().code, 3);
}

}  // namespace
}  // namespace millrace::cli_test
