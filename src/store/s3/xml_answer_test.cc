// SPDX-License-Identifier: Apache-2.0
#include "store/s3/xml_answer.h"

#include <gtest/gtest.h>

namespace millrace::s3 {
namespace {

std::string page(std::string_view inner, std::string_view tail = "<IsTruncated>false</IsTruncated>") {
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ListBucketResult "
         "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">" +
         std::string(tail) + std::string(inner) + "</ListBucketResult>";
}

std::string object(std::string_view key) {
  return "<Contents><Key>" + std::string(key) + "</Key><Size>1</Size></Contents>";
}

std::string why_not(std::string_view body, std::string_view prefix = "") {
  const auto parsed = parse_listing(body, prefix);
  EXPECT_FALSE(parsed);
  if (parsed) return "";
  EXPECT_EQ(parsed.error().code(), ErrorCode::bad_response);
  return parsed.error().message();
}

TEST(XmlAnswer, APageAsAwsWritesIt) {
  const auto parsed =
      parse_listing(page("<Contents><Key>in/a</Key><LastModified>2026-01-01T00:00:00.000Z</"
                         "LastModified><ETag>&quot;d41d8-3&quot;</ETag>"
                         "<Size>18446744073709551615</Size><StorageClass>GLACIER</StorageClass></Contents>",
                         "<IsTruncated>true</IsTruncated><NextContinuationToken>1+/=&amp; x</NextContinuationToken>"),
                    "in/");
  ASSERT_TRUE(parsed) << parsed.error().message();
  ASSERT_EQ(parsed->objects.size(), 1U);
  EXPECT_EQ(parsed->objects[0].key, "in/a");
  EXPECT_EQ(parsed->objects[0].etag.value, "\"d41d8-3\"");
  EXPECT_EQ(parsed->objects[0].size, UINT64_MAX);
  EXPECT_EQ(parsed->objects[0].last_modified, 1'767'225'600'000'000);
  EXPECT_EQ(parsed->objects[0].storage_class, "GLACIER");
  EXPECT_EQ(parsed->continuation, "1+/=& x");
}

TEST(XmlAnswer, A01_KeysAreDecodedOnlyWhenTheAnswerSaysSo) {
  const auto encoded = parse_listing(page("<EncodingType>url</EncodingType>" + object("a%2520b")), "");
  ASSERT_TRUE(encoded);
  EXPECT_EQ(encoded->objects[0].key, "a%20b");
  const auto plain = parse_listing(page(object("a%20b+c")), "");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->objects[0].key, "a%20b+c");
}

TEST(XmlAnswer, A08_BlanksOfKeysAreKept) {
  const auto parsed = parse_listing(page(object("a ") + object(" ") + object("\tb&#13;\n")), "");
  ASSERT_TRUE(parsed) << parsed.error().message();
  EXPECT_EQ(parsed->objects[0].key, "a ");
  EXPECT_EQ(parsed->objects[1].key, " ");
  EXPECT_EQ(parsed->objects[2].key, "\tb\r\n");
}

TEST(XmlAnswer, A09_WhatCannotBeParsedStopsWithItsPlace) {
  const std::string whole = page(object("a") + object("b"));
  EXPECT_NE(why_not(whole.substr(0, whole.size() - 30)).find("at byte"), std::string::npos);
  EXPECT_NE(why_not(page("<EncodingType>url</EncodingType>" + object("50%"))).find("'50%'"), std::string::npos);
  const std::string control =
      page(object("in/a\x01"
                  "b"));
  const auto parsed = parse_listing(control, "");
  ASSERT_TRUE(parsed);  // a raw control byte is not XML, but it is told exactly
  EXPECT_EQ(parsed->objects[0].key,
            "in/a\x01"
            "b");
}

TEST(XmlAnswer, E01_MorePagesNeedAToken) {
  EXPECT_NE(why_not(page("", "<IsTruncated>true</IsTruncated>")).find("no token"), std::string::npos);
  EXPECT_NE(why_not(page("", "")).find("IsTruncated"), std::string::npos);
}

TEST(XmlAnswer, G10_OnlyAListBucketResultIsAListing) {
  EXPECT_NE(why_not("").find("empty"), std::string::npos);
  EXPECT_NE(why_not("<html><body>Please log in</body></html>").find("<html>"), std::string::npos);
  EXPECT_NE(why_not("<!DOCTYPE html><html><head><meta></head></html>"), "");
  EXPECT_NE(why_not("{\"objects\": []}"), "");
  EXPECT_NE(why_not("<Error><Code>SlowDown</Code></Error>").find("<Error>"), std::string::npos);
}

TEST(XmlAnswer, ObjectsNeedKeyAndSizeAndThePrefix) {
  EXPECT_NE(why_not(page("<Contents><Size>1</Size></Contents>")).find("without a key"), std::string::npos);
  EXPECT_NE(why_not(page("<Contents><Key></Key><Size>1</Size></Contents>")).find("empty key"), std::string::npos);
  EXPECT_NE(why_not(page("<Contents><Key>a</Key></Contents>")).find("size of 'a'"), std::string::npos);
  EXPECT_NE(why_not(page("<Contents><Key>a</Key><Size>-1</Size></Contents>")).find("size"), std::string::npos);
  EXPECT_NE(why_not(page(object("out/a")), "in/").find("'out/a' does not begin"), std::string::npos);
}

TEST(XmlAnswer, NamespacePrefixesDoNotMatter) {
  const auto parsed = parse_listing(
      "<s3:ListBucketResult xmlns:s3=\"x\"><s3:IsTruncated>false</s3:IsTruncated><s3:Contents><s3:Key>a</s3:Key>"
      "<s3:Size>1</s3:Size></s3:Contents></s3:ListBucketResult>",
      "");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->objects.size(), 1U);
}

TEST(XmlAnswer, Errors) {
  const auto error = parse_error_xml(
      "<?xml version=\"1.0\"?><Error><Code>AuthorizationHeaderMalformed</Code><Message>the region &apos;x&apos; is "
      "wrong</Message><Region>eu-west-1</Region><RequestId>R1</RequestId></Error>");
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, "AuthorizationHeaderMalformed");
  EXPECT_EQ(error->message, "the region 'x' is wrong");
  EXPECT_EQ(error->region, "eu-west-1");
  EXPECT_EQ(error->request_id, "R1");
  EXPECT_EQ(parse_error_xml("<ErrorResponse><Error><Code>A</Code></Error></ErrorResponse>")->code, "A");
  EXPECT_FALSE(parse_error_xml("<html>503</html>"));
  EXPECT_FALSE(parse_error_xml("Service Unavailable"));
  EXPECT_FALSE(parse_error_xml(""));
}

}  // namespace
}  // namespace millrace::s3
