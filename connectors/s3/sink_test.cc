// SPDX-License-Identifier: Apache-2.0
// The sink as a whole: what opening it does, and what it asks of a store.
#include "connectors/s3/sink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "millrace/base/sync.h"
#include "millrace/config/config.h"
#include "millrace/testing/faulty_store.h"
#include "millrace/testing/memory_store.h"

namespace millrace::s3_sink {
namespace {

using millrace::testing::Fault;
using millrace::testing::FaultyStore;
using millrace::testing::MemoryStore;
using millrace::testing::StoreOp;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kProbe = "millrace was here; this object may be removed\n";

class LogLines final : public LogSink {
 public:
  void write(LogLevel level, std::string_view, std::string_view message, std::initializer_list<LogField>) override {
    if (level >= LogLevel::warn) lines.emplace_back(message);
  }
  std::vector<std::string> lines;
};

class S3SinkTest : public ::testing::Test {
 protected:
  std::unique_ptr<Sink> sink(IfExists if_exists = IfExists::verify, bool probe = true, S3SinkOptions options = {}) {
    options.url = "s3://b/out/";
    options.if_exists = if_exists;
    options.probe = probe;
    options.retry_delay = Duration(1);
    auto checked = check(options);
    EXPECT_TRUE(checked);
    return make_sink(*std::move(checked), [this](const StoreUrl& url, const StoreOptions&, const StoreContext&) {
      const MutexLock lock(mutex_);
      opened_ = url.to_string();
      return faulty_;
    });
  }
  SinkContext context() {
    SinkContext made;
    made.pipeline = "pipe";
    made.log = Logger(log_, "sink");
    return made;
  }
  std::vector<std::string> requests() {
    std::vector<std::string> all;
    for (const auto& request : memory_->requests()) {
      all.push_back(std::string(to_string(request.op)) + " " + request.key +
                    (request.condition == PutCondition::if_absent ? " if absent" : ""));
    }
    return all;
  }
  std::shared_ptr<MemoryStore> memory_ = std::make_shared<MemoryStore>();
  std::shared_ptr<FaultyStore> faulty_ = std::make_shared<FaultyStore>(memory_);
  std::shared_ptr<LogLines> log_ = std::make_shared<LogLines>();
  Mutex mutex_;
  std::string opened_ MILLRACE_GUARDED_BY(mutex_);
};

TEST_F(S3SinkTest, TheProbeWritesAndRemoves) {
  const auto made = sink();
  ASSERT_TRUE(made->open(context()));
  const MutexLock lock(mutex_);
  EXPECT_EQ(opened_, "s3://b/out");
  EXPECT_THAT(requests(), ElementsAre("head out/.millrace-probe", "put out/.millrace-probe if absent",
                                      "put out/.millrace-probe if absent", "remove out/.millrace-probe"));
  EXPECT_TRUE(memory_->contents().empty());
  EXPECT_THAT(log_->lines, IsEmpty());
}

TEST_F(S3SinkTest, OverwriteProbesWithOnePut) {
  ASSERT_TRUE(sink(IfExists::overwrite)->open(context()));
  EXPECT_THAT(requests(),
              ElementsAre("head out/.millrace-probe", "put out/.millrace-probe", "remove out/.millrace-probe"));
}

TEST_F(S3SinkTest, WithoutAProbeNothingIsAsked) {
  ASSERT_TRUE(sink(IfExists::verify, false)->open(context()));
  EXPECT_THAT(requests(), IsEmpty());
}

// B05 J08: a role that may only put, on its first and on its later starts.
TEST_F(S3SinkTest, B05_PutIsAllThatTheProbeNeeds) {
  for (const StoreOp op : {StoreOp::list, StoreOp::read, StoreOp::get, StoreOp::head, StoreOp::remove}) {
    faulty_->add({.op = op, .times = Fault::kAlways, .error = Error::fatal(ErrorCode::permission_denied, "403")});
  }
  for (int start = 0; start < 3; ++start) EXPECT_TRUE(sink()->open(context())) << start;
  EXPECT_THAT(log_->lines, IsEmpty());
}

TEST_F(S3SinkTest, AForbiddenProbeEndsTheStart) {
  faulty_->add({.op = StoreOp::put, .error = Error::fatal(ErrorCode::permission_denied, "403 AccessDenied")});
  const auto opened = sink()->open(context());
  ASSERT_FALSE(opened);
  EXPECT_TRUE(opened.error().is_fatal());
  EXPECT_THAT(opened.error().message(),
              AllOf(HasSubstr("s3://b/out/.millrace-probe"), HasSubstr("s3:PutObject"), HasSubstr("403 AccessDenied")));
}

TEST_F(S3SinkTest, TheProbeIsTriedAgain) {
  faulty_->add({.op = StoreOp::put, .times = 2, .error = Error::retryable(ErrorCode::unavailable, "503")});
  EXPECT_TRUE(sink()->open(context()));
  faulty_->clear();
  faulty_->add({.op = StoreOp::put, .times = 3, .error = Error::retryable(ErrorCode::unavailable, "503")});
  const auto opened = sink()->open(context());
  ASSERT_FALSE(opened) << "max_attempts is 3";
  EXPECT_TRUE(opened.error().is_fatal()) << "a start is not tried again by the engine";
}

TEST_F(S3SinkTest, AStopEndsTheProbesWaitForItsNextTry) {
  faulty_->add({.op = StoreOp::put,
                .times = Fault::kAlways,
                .error = Error::retryable(ErrorCode::unavailable, "503").with_retry_after(std::chrono::hours(1))});
  SinkContext asked = context();
  Atomic<int> looks{0};
  asked.stop_requested = [&] { return looks.fetch_add(1) >= 2; };  // comes while the probe waits
  const auto opened = sink()->open(asked);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), ErrorCode::cancelled);
}

TEST_F(S3SinkTest, AStopEndsAProbeThatTheStoreDoesNotAnswer) {
  faulty_->add({.op = StoreOp::put, .hang = true});
  SinkContext asked = context();
  Atomic<int> looks{0};
  asked.stop_requested = [&] { return looks.fetch_add(1) >= 2; };
  const auto opened = sink()->open(asked);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), ErrorCode::cancelled);
}

// B07 B09: three ways in which a store fails to keep the condition, each found before a record moves, told once.
TEST_F(S3SinkTest, B07_IgnoredConditionsAreFoundAtTheStart) {
  memory_ = std::make_shared<MemoryStore>(MemoryStore::Options{.honours_conditions = false});
  faulty_ = std::make_shared<FaultyStore>(memory_);
  ASSERT_TRUE(sink()->open(context()));
  EXPECT_THAT(log_->lines, ElementsAre(HasSubstr("ignores the condition")));
}

// Without the condition two runs could both take a partition over.
TEST_F(S3SinkTest, B07_ExactlyOnceByCommitObjectsNeedsConditions) {
  memory_ = std::make_shared<MemoryStore>(MemoryStore::Options{.honours_conditions = false});
  faulty_ = std::make_shared<FaultyStore>(memory_);
  S3SinkOptions once;
  once.delivery = Delivery::exactly_once;
  const auto refused = sink(IfExists::verify, true, once)->open(context());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::config);
  EXPECT_THAT(refused.error().message(), HasSubstr("max_file_age: 0s"));
  once.max_file_age = Duration::zero();
  EXPECT_TRUE(sink(IfExists::verify, true, once)->open(context())) << "files that repeat themselves do without";
}

TEST_F(S3SinkTest, B07_UnknownConditionsAreFoundAtTheStart) {
  faulty_->add({.op = StoreOp::put, .error = Error::fatal(ErrorCode::not_supported, "501 NotImplemented")});
  ASSERT_TRUE(sink()->open(context()));
  EXPECT_THAT(log_->lines, ElementsAre(HasSubstr("takes no create-only put")));
}

TEST_F(S3SinkTest, B09_AlwaysRefusedConditionsAreFoundAtTheStart) {
  faulty_->add(
      {.op = StoreOp::put, .times = Fault::kAlways, .error = Error::fatal(ErrorCode::precondition_failed, "412")});
  ASSERT_TRUE(sink()->open(context()));
  EXPECT_THAT(log_->lines, ElementsAre(HasSubstr("refuses create-only puts of keys that do not exist")));
}

TEST_F(S3SinkTest, ALeftOverProbeIsNoFault) {
  memory_->set("out/.millrace-probe", std::string(kProbe));
  ASSERT_TRUE(sink()->open(context()));
  EXPECT_THAT(log_->lines, IsEmpty());
  EXPECT_TRUE(memory_->contents().empty());
}

// probe_key may name anything; a probe neither overwrites nor removes what is none.
TEST_F(S3SinkTest, ARealObjectAtTheProbesKeyIsLeftAlone) {
  memory_->set("out/.millrace-probe", "somebody's data");
  for (const IfExists if_exists : {IfExists::verify, IfExists::overwrite, IfExists::fail}) {
    const auto opened = sink(if_exists)->open(context());
    ASSERT_FALSE(opened);
    EXPECT_THAT(opened.error().message(), HasSubstr("name another probe_key"));
  }
  EXPECT_EQ(memory_->contents().at("out/.millrace-probe"), "somebody's data");
}

// The other run has made the probe when this one's create arrives, and removed it when this one looks.
TEST_F(S3SinkTest, AnotherRunsProbeThatIsGoneAgainIsNoBrokenStore) {
  faulty_->add({.op = StoreOp::put, .error = Error::fatal(ErrorCode::precondition_failed, "412")});
  ASSERT_TRUE(sink()->open(context()));
  EXPECT_THAT(log_->lines, IsEmpty());
}

// Indexed jobs start together: real runs, one key, and none may give up the conditions.
TEST_F(S3SinkTest, RunsThatStartTogetherAllKeepTheConditions) {
  constexpr int kRuns = 8;
  std::vector<std::shared_ptr<LogLines>> logs;
  {
    std::vector<Thread> runs;
    for (int i = 0; i < kRuns; ++i) {
      logs.push_back(std::make_shared<LogLines>());
      runs.emplace_back("run", [this, log = logs.back()] {
        const auto made = sink();
        SinkContext own = context();
        own.log = Logger(log, "sink");
        for (int start = 0; start < 20; ++start) EXPECT_TRUE(made->open(own));
      });
    }
  }
  for (const auto& log : logs) EXPECT_THAT(log->lines, IsEmpty());
}

TEST_F(S3SinkTest, WritersComeAfterOpen) {
  const auto made = sink();
  EXPECT_EQ(made->make_writer().error().code(), ErrorCode::rule_broken);
  ASSERT_TRUE(made->open(context()));
  EXPECT_TRUE(made->make_writer());
  EXPECT_EQ(made->type(), "s3");
}

// INV-10: two sinks that claim the same series of one component are a start error.
TEST_F(S3SinkTest, INV10_MetricsHaveOneOwner) {
  auto registry = std::make_shared<MetricRegistry>();
  SinkContext first = context();
  first.meter = Meter(registry, {{"pipeline", "p"}, {"component", "sink"}, {"component_type", "s3"}});
  const auto one = sink();
  const auto two = sink();
  ASSERT_TRUE(one->open(first));
  EXPECT_FALSE(two->open(first));
  EXPECT_THAT(registry->to_prometheus_text(), HasSubstr("etl_s3_sink_objects_total"));
}

TEST_F(S3SinkTest, FromYaml) {
  const auto config = Config::parse("sink: {s3: {url: \"file:///tmp/out\", output_format: json_array}}\n", "p.yaml");
  ASSERT_TRUE(config);
  const SinkKind kind = S3Sink::kind();
  EXPECT_EQ(kind.name, "s3");
  EXPECT_TRUE(kind.validate(config->section("sink.s3")));
  const auto made = kind.make(config->section("sink.s3"), {});
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ((*made)->encode_spec().format, EncodeFormat::json_array);
  EXPECT_EQ((*made)->envelope().footer, "]");
  const auto wrong = Config::parse("sink: {s3: {url: \"file:///tmp/out\", nope: 1}}\n", "p.yaml");
  EXPECT_FALSE(kind.validate(wrong->section("sink.s3")));
  EXPECT_FALSE(kind.make(wrong->section("sink.s3"), {}));
}

TEST(S3SinkFeeding, ASinkUnderTheSourceIsRefused) {
  const auto feeds = [](const std::string& source_url, const std::string& sink_url,
                        const std::string& pattern = "{topic}") {
    S3SourceOptions source;
    source.url = source_url;
    S3SinkOptions sink;
    sink.url = sink_url;
    sink.path_template = pattern;
    const auto checked = S3Sink::check_not_feeding(source, sink);
    if (!checked) {
      EXPECT_THAT(checked.error().message(), HasSubstr("read its own output"));
    }
    return !checked;
  };
  EXPECT_TRUE(feeds("s3://b/data/", "s3://b/data/out"));
  EXPECT_TRUE(feeds("s3://b/data", "s3://b/data"));
  EXPECT_TRUE(feeds("s3://b/data", "s3://b/database")) << "a prefix is a string";
  EXPECT_TRUE(feeds("s3://b/", "s3://b"));
  EXPECT_TRUE(feeds("s3://b", "s3://b/x"));
  EXPECT_TRUE(feeds("s3://b/out/raw/", "s3://b/out", "raw/{topic}"));
  EXPECT_TRUE(feeds("file:///data/", "file:///data/out"));
  EXPECT_FALSE(feeds("s3://b/in/", "s3://b/out"));
  EXPECT_FALSE(feeds("s3://b/data/", "s3://c/data/out"));
  EXPECT_FALSE(feeds("s3://b/data/", "file:///data/out"));
  EXPECT_FALSE(feeds("s3://b/data/in/", "s3://b/data"));
}

TEST(S3SinkFeeding, DeadLettersHaveAPlaceOfTheirOwn) {
  const auto apart = [](const std::string& sink_url, const std::string& letters_url,
                        const std::string& pattern = "{topic}", const std::string& letters_pattern = "{topic}") {
    S3SinkOptions sink;
    sink.url = sink_url;
    sink.path_template = pattern;
    S3SinkOptions letters;
    letters.url = letters_url;
    letters.path_template = letters_pattern;
    const auto checked = S3Sink::check_apart(sink, letters);
    if (!checked) {
      EXPECT_THAT(checked.error().message(), HasSubstr("a prefix of their own"));
    }
    return checked.has_value();
  };
  EXPECT_TRUE(apart("s3://b/out", "s3://b/bad"));
  EXPECT_TRUE(apart("s3://b/out", "s3://b/out-bad"));
  EXPECT_TRUE(apart("s3://b/out", "s3://c/out"));
  EXPECT_TRUE(apart("s3://b/out", "file:///out"));
  EXPECT_TRUE(apart("s3://b", "s3://b/bad", "data/{topic}"));
  EXPECT_FALSE(apart("s3://b/out", "s3://b/out"));
  EXPECT_FALSE(apart("s3://b/out", "s3://b/out/bad"));
  EXPECT_FALSE(apart("s3://b/out/good", "s3://b/out"));
  EXPECT_FALSE(apart("s3://b", "s3://b/bad"));
  EXPECT_FALSE(apart("s3://b/out", "s3://b/out", "good/{topic}", "bad/{topic}")) << "notes of uploads would be shared";
}

TEST(S3SinkFeeding, EndpointsAreComparedAsServers) {
  const auto feeds = [](const std::string& source_endpoint, const std::string& sink_endpoint) {
    S3SourceOptions source;
    source.url = "s3://b/data/";
    if (!source_endpoint.empty()) source.store["endpoint"] = source_endpoint;
    S3SinkOptions sink;
    sink.url = "s3://b/data/out";
    sink.endpoint = sink_endpoint;
    return !S3Sink::check_not_feeding(source, sink);
  };
  EXPECT_TRUE(feeds("https://one.test", "https://One.test:443"));
  EXPECT_TRUE(feeds("", "https://s3.eu-west-2.amazonaws.com"));
  EXPECT_FALSE(feeds("https://one.test", "https://two.test"));
  EXPECT_FALSE(feeds("", "https://one.test"));
}

// cleanup_uploads: whatever began below the prefix before the start, and nothing else.
TEST_F(S3SinkTest, J06_CleanupAbortsWhatBeganBelowThePrefix) {
  for (const char* key : {"out/t/a", "out/t/b", "outer/c", "d"}) {
    ASSERT_TRUE(memory_->begin_upload({.key = key}));
  }
  S3SinkOptions options;
  options.url = "s3://b/out/";
  options.probe = false;
  options.cleanup_uploads = true;
  auto checked = check(options);
  ASSERT_TRUE(checked);
  const auto cleaning = make_sink(
      *std::move(checked), [this](const StoreUrl&, const StoreOptions&, const StoreContext&) { return faulty_; });
  faulty_->add({.op = StoreOp::list_uploads, .error = Error::fatal(ErrorCode::permission_denied, "403")});
  const auto refused = cleaning->open(context());
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("cleanup_uploads"));
  EXPECT_EQ(memory_->open_uploads().size(), 4U);
  ASSERT_TRUE(cleaning->open(context()));
  std::vector<std::string> left;
  for (const UploadId& upload : memory_->open_uploads()) left.push_back(upload.key);
  std::ranges::sort(left);
  EXPECT_THAT(left, ElementsAre("d", "outer/c"));
}

}  // namespace
}  // namespace millrace::s3_sink
