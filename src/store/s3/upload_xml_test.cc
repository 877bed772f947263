// SPDX-License-Identifier: Apache-2.0
// Goal: the XML of uploads as S3's documentation shows it, and no other. Method: documents written out by hand.
#include "store/s3/upload_xml.h"

#include <gmock/gmock.h>

namespace millrace::s3 {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kXml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";

TEST(UploadXml, Complete) {
  const PartResult parts[] = {{1, 5, ETag{"\"a<&>\""}, "y/Q5Jg=="}, {7, 5, ETag{"plain"}, ""}};
  EXPECT_EQ(complete_xml(ChecksumKind::crc64nvme, parts),
            "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
            "<Part><ETag>&quot;a&lt;&amp;&gt;&quot;</ETag><ChecksumCRC64NVME>y/Q5Jg==</ChecksumCRC64NVME>"
            "<PartNumber>1</PartNumber></Part><Part><ETag>plain</ETag><PartNumber>7</PartNumber></Part>"
            "</CompleteMultipartUpload>");
  EXPECT_THAT(complete_xml(ChecksumKind::sha256, parts), HasSubstr("<ChecksumSHA256>"));
  EXPECT_THAT(complete_xml(ChecksumKind::none, parts), ::testing::Not(HasSubstr("Checksum")));
}

TEST(UploadXml, Begun) {
  EXPECT_EQ(parse_begun(std::string(kXml) +
                        "<InitiateMultipartUploadResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Bucket>b"
                        "</Bucket><Key>k</Key><UploadId>VXB+/=</UploadId></InitiateMultipartUploadResult>")
                .value(),
            "VXB+/=");
  EXPECT_EQ(parse_begun("<s3:InitiateMultipartUploadResult><s3:UploadId>1</s3:UploadId>"
                        "</s3:InitiateMultipartUploadResult>")
                .value(),
            "1");
}

TEST(UploadXml, J01_CompletedBehindTheBlanksThatKeepTheConnection) {
  const auto done = parse_completed("   \n  " + std::string(kXml) +
                                        "<CompleteMultipartUploadResult><ETag>&quot;abc-2&quot;</ETag>"
                                        "<ChecksumCRC32>AAAA-2</ChecksumCRC32></CompleteMultipartUploadResult>",
                                    ChecksumKind::crc32);
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_EQ(done->etag.value, "\"abc-2\"");
  EXPECT_EQ(done->checksum, "AAAA-2");
  EXPECT_EQ(parse_completed("<CompleteMultipartUploadResult><ETag>e</ETag></CompleteMultipartUploadResult>",
                            ChecksumKind::crc32)
                .value()
                .checksum,
            "");
}

TEST(UploadXml, Listed) {
  const auto page = parse_uploads(
      std::string(kXml) +
          "<ListMultipartUploadsResult><EncodingType>url</EncodingType><NextKeyMarker>in/a%26b+c</NextKeyMarker>"
          "<NextUploadIdMarker>x&amp;y</NextUploadIdMarker><IsTruncated>true</IsTruncated>"
          "<Upload><Key>in/a%26b+c</Key><UploadId>x&amp;y</UploadId><Initiated>2026-01-02T03:04:05.000Z</Initiated>"
          "</Upload></ListMultipartUploadsResult>",
      "in/");
  ASSERT_TRUE(page) << page.error().message();
  ASSERT_EQ(page->uploads.size(), 1U);
  EXPECT_EQ(page->uploads[0].upload.key, "in/a&b c");
  EXPECT_EQ(page->uploads[0].upload.id, "x&y");
  EXPECT_EQ(page->uploads[0].initiated, 1'767'323'045'000'000);  // date -u -d 2026-01-02T03:04:05Z +%s
  const auto markers = markers_of(page->continuation);
  ASSERT_TRUE(markers);
  EXPECT_EQ(markers->key, "in/a&b c");
  EXPECT_EQ(markers->id, "x&y");
  EXPECT_FALSE(markers_of("no marker"));
}

TEST(UploadXml, WhatIsNotTheDocumentIsABadAnswer) {
  for (const std::string_view body :
       {"", "   ", "<html/>", "<CompleteMultipartUploadResult>", "<CompleteMultipartUploadResult/>",
        "<ListMultipartUploadsResult/>", "<InitiateMultipartUploadResult/>",
        "<ListMultipartUploadsResult><IsTruncated>true</IsTruncated></ListMultipartUploadsResult>",
        "<ListMultipartUploadsResult><IsTruncated>false</IsTruncated><Upload><Key>out</Key><UploadId>1</UploadId>"
        "</Upload></ListMultipartUploadsResult>",
        "<ListMultipartUploadsResult><IsTruncated>false</IsTruncated><Upload><Key>in/a</Key></Upload>"
        "</ListMultipartUploadsResult>"}) {
    const auto begun = parse_begun(body);
    const auto done = parse_completed(body, ChecksumKind::none);
    const auto listed = parse_uploads(body, "in/");
    EXPECT_FALSE(begun || done || listed) << body;
    for (const Error& error : {begun.error(), done.error(), listed.error()}) {
      EXPECT_EQ(error.code(), ErrorCode::bad_response) << body;
      EXPECT_TRUE(error.is_retryable()) << body;
    }
  }
}

}  // namespace
}  // namespace millrace::s3
