// SPDX-License-Identifier: Apache-2.0
// Goal: stores spell one ETag in many ways, or leave it out; what is the same version is read, what is not known to be
// is refused with what really differs, and versions are never mixed (row B10). Method: the fault server, which holds
// If-Match against its own spelling byte for byte; the listing is written by hand where it must differ.
#include <gtest/gtest.h>

#include "tests/s3_source/source_on_server.h"

namespace millrace::s3_source {
namespace {

class ETagsOnServer : public SourceOnServer {
 protected:
  /// The only object, 1,000 bytes in ten reads one after the other.
  void hold(std::string etag) {
    put("in/a", numbered(100, 10), {.etag = std::move(etag)});
    BackfillRig& source = fresh();
    source.options.chunk_bytes = {100};
    source.options.prefetch_bytes = {200};
    source.options.requests_in_flight = 1;
  }
  void list_as(const std::string& etag) {
    ServerFault fault{.operation = "ListObjectsV2", .times = 100, .status = 200};
    fault.body = fmt::format(
        "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>in/a</Key><Size>1000</Size>"
        "<ETag>{}</ETag></Contents></ListBucketResult>",
        etag);
    fault.content_type = "application/xml";
    server->add_fault(fault);
  }
  void expect_all_read() {
    ASSERT_EQ(problem(), "succeeded");
    EXPECT_EQ(lines(), numbered_lines(100, 10));
  }
  [[nodiscard]] std::size_t refused() const {
    std::size_t count = 0;
    for (const auto& request : gets()) count += request.status == 412 ? 1 : 0;
    return count;
  }
};

TEST_F(ETagsOnServer, B10_QuotesThatOnlyTheListingOrOnlyTheAnswersHave) {
  for (const auto& [listed, kept] : {std::pair{"5d41-3", "\"5d41-3\""}, {"\"5d41-3\"", "5d41-3"}}) {
    start();
    hold(kept);
    list_as(listed);
    run(*rig);
    expect_all_read();
    EXPECT_EQ(refused(), 1U) << "found out once, for all reads that follow";
    EXPECT_EQ(gets().size(), 12U) << "the one refused, the question, and ten reads";
    for (std::size_t i = 2; i < gets().size(); ++i) EXPECT_EQ(gets()[i].http.header("if-match"), kept);
  }
}

TEST_F(ETagsOnServer, B10_OtherQuotesAroundAnotherTagAreAnOverwrite) {
  hold("\"new\"");
  list_as("old");
  run(*rig);
  expect_failed(ErrorCode::drift, {"s3://b/in/a", "was overwritten", "its ETag was old and is \"new\" now"});
  EXPECT_TRUE(rig->records.empty());
}

TEST_F(ETagsOnServer, B10_TagsThatOnlyTheAnswersHavePinTheReadsToOneVersion) {
  hold("\"5d41\"");
  server->add_fault("op=ListObjectsV2 times=every no_etag");
  run(*rig);
  expect_all_read();
  EXPECT_EQ(gets().size(), 10U);
  EXPECT_FALSE(gets()[5].http.has_header("if-match"));
}

TEST_F(ETagsOnServer, B10_F01_WithoutAListedTagAnotherVersionIsSeenAllTheSame) {
  for (const char* then : {"ETag: \"v2\"", "ETag: W/\"5d41\"", ""}) {
    start();
    hold("\"5d41\"");
    server->add_fault("op=ListObjectsV2 times=every no_etag");
    // From the fourth read on; in the same second, so that the time of change tells nothing.
    server->add_fault(fmt::format("op=GetObject key=in/a skip=3 times=every {}",
                                  *then == '\0' ? std::string("no_etag") : fmt::format("header='{}'", then)));
    run(*rig);
    expect_failed(ErrorCode::drift, {"s3://b/in/a", "was overwritten while it was read", "up to byte 300",
                                     "its ETag was \"5d41\"", *then == '\0' ? "none" : then + 6});
    EXPECT_LE(rig->records.size(), 30U) << "nothing of what came under another tag";
  }
}

TEST_F(ETagsOnServer, B10_AWeakTagInTheListingAloneIsNoDifference) {
  hold("\"5d41\"");
  list_as("W/\"5d41\"");
  run(*rig);
  expect_all_read();
  EXPECT_FALSE(gets()[0].http.has_header("if-match")) << "a weak tag pins nothing";
}

TEST_F(ETagsOnServer, B10_ATagThatIsMadeWeakOnTheWayIsCalledThat) {
  hold("\"5d41\"");
  server->add_fault("op=GetObject key=in/a times=every header='ETag: W/\"5d41\"'");
  run(*rig);
  expect_failed(ErrorCode::bad_response,
                {"s3://b/in/a", "as \"5d41\" and a read as W/\"5d41\"", "names no exact bytes"});
  EXPECT_EQ(problem().find("overwritten"), std::string::npos) << problem();
  EXPECT_TRUE(rig->records.empty());
}

TEST_F(ETagsOnServer, B10_AStoreThatRefusesItsOwnTagIsSaidToDoSo) {
  hold("\"5d41\"");
  server->add_fault("op=GetObject key=in/a times=1 status=412 code=PreconditionFailed");
  run(*rig);
  expect_failed(ErrorCode::bad_response, {"s3://b/in/a", "the store refuses its own ETag in If-Match"});
  EXPECT_EQ(problem().find("overwritten"), std::string::npos) << problem();
}

TEST_F(ETagsOnServer, B10_ATagThatIsListedAndNotAnsweredIsSaid) {
  hold("\"5d41\"");
  server->add_fault("op=GetObject key=in/a times=every no_etag");
  rig->retry.tries = 2;
  run(*rig);
  expect_failed(ErrorCode::bad_response, {"s3://b/in/a", "has no ETag", "\"5d41\""});
}

}  // namespace
}  // namespace millrace::s3_source
