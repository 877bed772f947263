// SPDX-License-Identifier: Apache-2.0
// Goal: no byte counts that was not asked for. Method: heads and bodies as servers and gateways send them, right and
// wrong.
#include "store/s3/answer_sink.h"

#include <gtest/gtest.h>

namespace millrace::s3 {
namespace {

HttpHead head_of(int status, HeaderList headers) {
  HttpHead head;
  head.status = status;
  head.headers = std::move(headers);
  return head;
}

class RangeSinkTest : public ::testing::Test {
 protected:
  // Bytes 100 to 109 of an object of 200, version "v1".
  RangeSink sink(ETag pin = ETag{"\"v1\""}, std::optional<std::uint64_t> size = 200) {
    return RangeSink({100, std::span<char>(memory_), std::move(pin), size});
  }
  static HttpHead good() {
    return head_of(206, {{"content-range", "bytes 100-109/200"},
                         {"content-length", "10"},
                         {"etag", "\"v1\""},
                         {"last-modified", "Fri, 24 May 2013 00:00:00 GMT"},
                         {"content-encoding", "aws-chunked,gzip"}});
  }
  std::string memory_ = std::string(10, '#');
};

TEST_F(RangeSinkTest, TakesExactlyWhatWasAskedFor) {
  RangeSink sink = this->sink();
  ASSERT_TRUE(sink.begin(good()));
  EXPECT_TRUE(sink.write("0123"));
  EXPECT_TRUE(sink.write("456789"));
  EXPECT_TRUE(sink.end());
  EXPECT_EQ(memory_, "0123456789");
  const ReadInfo info = sink.take_info();
  EXPECT_EQ(info.object_size, 200U);
  EXPECT_EQ(info.etag.value, "\"v1\"");
  EXPECT_EQ(info.last_modified, 1'369'353'600'000'000);
  EXPECT_EQ(info.content_encoding, "aws-chunked,gzip");
}

TEST_F(RangeSinkTest, G01_AShortBodyIsAnErrorAndKeepsItsGoodBytes) {
  RangeSink sink = this->sink();
  ASSERT_TRUE(sink.begin(good()));
  ASSERT_TRUE(sink.write("0123"));
  const auto end = sink.end();
  EXPECT_EQ(end.error().code(), ErrorCode::interrupted_transfer);
  EXPECT_TRUE(end.error().is_retryable());
  EXPECT_EQ(sink.received(), 4U);
  EXPECT_EQ(memory_, "0123######");
}

TEST_F(RangeSinkTest, G01_AShorterRangeIsGoodAsFarAsItGoes) {
  RangeSink sink = this->sink();
  ASSERT_TRUE(sink.begin(head_of(206, {{"content-range", "bytes 100-103/200"}, {"etag", "\"v1\""}})));
  ASSERT_TRUE(sink.write("0123"));
  EXPECT_FALSE(sink.write("4"));
  EXPECT_EQ(sink.end().error().code(), ErrorCode::interrupted_transfer);
  EXPECT_EQ(sink.received(), 4U);
}

TEST_F(RangeSinkTest, ALongBodyIsRefused) {
  RangeSink sink = this->sink();
  ASSERT_TRUE(sink.begin(good()));
  EXPECT_EQ(sink.write("0123456789x").error().code(), ErrorCode::bad_response);
  EXPECT_EQ(sink.received(), 0U);
}

TEST_F(RangeSinkTest, AnotherRangeIsRefused) {
  for (const char* range :
       {"bytes 101-110/200", "bytes 0-9/200", "bytes 100-110/200", "bytes 100-99/200", "bytes 100-109/*", "bytes */200",
        "100-109/200", "bytes 100-109/109", "bytes 100-109/200x", ""}) {
    RangeSink sink = this->sink();
    const auto begun = sink.begin(head_of(206, {{"content-range", range}, {"etag", "\"v1\""}}));
    ASSERT_FALSE(begun) << range;
    EXPECT_EQ(begun.error().code(), ErrorCode::bad_response) << range;
  }
}

TEST_F(RangeSinkTest, AnotherSizeIsDrift) {
  RangeSink sink = this->sink(ETag{"\"v1\""}, 201);
  const auto begun = sink.begin(good());
  EXPECT_EQ(begun.error().code(), ErrorCode::drift);
  EXPECT_TRUE(begun.error().is_fatal());
  EXPECT_NE(begun.error().message().find("201"), std::string::npos);
  EXPECT_NE(begun.error().message().find("200"), std::string::npos);
}

TEST_F(RangeSinkTest, F01_AnotherVersionIsRefusedAlthoughTheServerIgnoredThePin) {
  RangeSink sink = this->sink(ETag{"\"v0\""});
  const auto begun = sink.begin(good());
  EXPECT_EQ(begun.error().code(), ErrorCode::precondition_failed);
  EXPECT_NE(begun.error().message().find("\"v0\""), std::string::npos);
  EXPECT_NE(begun.error().message().find("\"v1\""), std::string::npos);
}

TEST_F(RangeSinkTest, B10_TagsAreOpaque) {
  for (const char* tag : {"\"d41d8-3\"", "abc", "\"abc\""}) {
    RangeSink sink = this->sink(ETag{tag});
    EXPECT_TRUE(sink.begin(head_of(206, {{"content-range", "bytes 100-109/200"}, {"etag", tag}}))) << tag;
  }
  // Quotes are lost by some servers in one place and not in another.
  EXPECT_TRUE(same_etag("abc", "\"abc\""));
  EXPECT_FALSE(same_etag("abc", "\"abd\""));
  // A weak tag, or none, pins nothing and is reported as it came.
  RangeSink weak = this->sink(ETag{"W/\"5d41\""});
  EXPECT_TRUE(weak.begin(head_of(206, {{"content-range", "bytes 100-109/200"}, {"etag", "W/\"other\""}})));
  EXPECT_EQ(weak.take_info().etag.value, "W/\"other\"");
  RangeSink none = this->sink(ETag{});
  EXPECT_TRUE(none.begin(head_of(206, {{"content-range", "bytes 100-109/200"}})));
  EXPECT_TRUE(none.take_info().etag.empty());
  // What was pinned and comes back without a tag proves nothing.
  RangeSink missing = this->sink();
  EXPECT_EQ(missing.begin(head_of(206, {{"content-range", "bytes 100-109/200"}})).error().code(),
            ErrorCode::bad_response);
}

TEST_F(RangeSinkTest, G10_APlainAnswerIsTakenOnlyWhenItIsTheWholeObject) {
  RangeSink whole({0, std::span<char>(memory_), ETag{"\"v1\""}, 10});
  EXPECT_TRUE(whole.begin(head_of(200, {{"content-length", "10"}, {"etag", "\"v1\""}})));
  RangeSink other_length({0, std::span<char>(memory_), ETag{}, std::nullopt});
  EXPECT_FALSE(other_length.begin(head_of(200, {{"content-length", "11"}, {"etag", "\"v1\""}})));
  RangeSink middle = this->sink();
  EXPECT_FALSE(middle.begin(head_of(200, {{"content-length", "10"}, {"etag", "\"v1\""}})));
  RangeSink html({0, std::span<char>(memory_), ETag{}, std::nullopt});
  const auto begun = html.begin(head_of(200, {{"content-length", "10"}, {"content-type", "text/html"}}));
  EXPECT_EQ(begun.error().code(), ErrorCode::bad_response);
  EXPECT_NE(begun.error().message().find("text/html"), std::string::npos);
}

TEST(TextSink, LimitsWhatItKeeps) {
  TextSink sink(4);
  EXPECT_EQ(sink.begin(head_of(200, {{"content-length", "5"}})).error().code(), ErrorCode::too_large);
  ASSERT_TRUE(sink.begin(head_of(200, {{"transfer-encoding", "chunked"}})));
  EXPECT_TRUE(sink.write("1234"));
  EXPECT_EQ(sink.write("5").error().code(), ErrorCode::too_large);
  EXPECT_EQ(sink.text(), "1234");
}

TEST(TextSink, G01_ABodyWithoutLengthIsRefused) {
  TextSink sink(4);
  EXPECT_EQ(sink.begin(head_of(200, {})).error().code(), ErrorCode::bad_response);
}

TEST(ShortSink, KeepsTheBeginningAndTakesAnything) {
  ShortSink sink;
  ASSERT_TRUE(sink.begin(head_of(200, {{"content-length", "1000000"}})));
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(sink.write(std::string(10'000, 'x')));
  EXPECT_EQ(sink.text().size(), 65'536U);
}

}  // namespace
}  // namespace millrace::s3
