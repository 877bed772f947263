// SPDX-License-Identifier: Apache-2.0
// How objects are kept, as options: what the requests then carry, and what is refused before any is sent.
#include "connectors/s3/stored_as.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "connectors/s3/sink_options_fixture.h"

namespace millrace::s3_sink {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

TEST(StoredAs, NothingIsAskedForByDefault) {
  const StoredAs as = accepted(kPlace).as;
  EXPECT_EQ(as.settings, ObjectSettings());
  EXPECT_EQ(as.checksum, ChecksumKind::none);
  EXPECT_EQ(as.content_type, "application/x-ndjson");
  EXPECT_EQ(as.content_encoding, "");
  EXPECT_EQ(as.multipart_threshold, 64U * 1024 * 1024);
  EXPECT_EQ(as.part_bytes, 16U * 1024 * 1024);
}

TEST(StoredAs, EveryKeyReachesTheRequest) {
  const StoredAs as = accepted(with("storage_class: STANDARD_IA\n"
                                    "sse: aws:kms\n"
                                    "sse_kms_key_id: alias/lake\n"
                                    "sse_bucket_key: true\n"
                                    "acl: bucket-owner-full-control\n"
                                    "tags: {team: data}\n"
                                    "object_metadata: {Owner: platform, x-amz-meta-tier: bronze}\n"
                                    "content_type: text/plain\n"
                                    "compression: gzip\n"
                                    "content_encoding: gzip\n"
                                    "checksum_algorithm: CRC64NVME\n"
                                    "multipart_threshold: 32MiB\n"
                                    "part_size: 8MiB\n"))
                          .as;
  EXPECT_EQ(as.settings.storage_class, "STANDARD_IA");
  EXPECT_EQ(as.settings.encryption, Encryption::kms);
  EXPECT_EQ(as.settings.kms_key_id, "alias/lake");
  EXPECT_EQ(as.settings.bucket_key, true);
  EXPECT_EQ(as.settings.acl, "bucket-owner-full-control");
  EXPECT_THAT(as.settings.tags, ElementsAre(Pair("team", "data")));
  EXPECT_THAT(as.metadata, ElementsAre(Pair("owner", "platform"), Pair("tier", "bronze")));
  EXPECT_EQ(as.content_type, "text/plain");
  EXPECT_EQ(as.content_encoding, "gzip");
  EXPECT_EQ(as.checksum, ChecksumKind::crc64nvme);
  EXPECT_EQ(as.multipart_threshold, 32U << 20U);
  EXPECT_EQ(as.part_bytes, 8U << 20U);
}

TEST(StoredAs, TheTypeIsThatOfWhatAReaderGets) {
  EXPECT_EQ(accepted(with("output_format: json_array\n")).as.content_type, "application/json");
  EXPECT_EQ(accepted(with("output_format: raw\ndelimiter: ''\n")).as.content_type, "application/octet-stream");
  EXPECT_EQ(accepted(with("compression: gzip\n")).as.content_type, "application/gzip");
  EXPECT_EQ(accepted(with("compression: zstd\n")).as.content_type, "application/zstd");
  EXPECT_EQ(accepted(with("compression: zstd\ncontent_encoding: zstd\n")).as.content_type, "application/x-ndjson")
      << "a client unpacks it";
}

TEST(StoredAs, AnEncodingThatIsNotTrueIsRefused) {
  EXPECT_THAT(refused(with("content_encoding: gzip\n")),
              AllOf(HasSubstr("sink.s3.content_encoding"), HasSubstr("compression none packs nothing")));
  EXPECT_THAT(refused(with("compression: gzip\ncontent_encoding: zstd\n")), HasSubstr("write content_encoding: gzip"));
}

TEST(StoredAs, MetadataThatNoHeaderHolds) {
  EXPECT_THAT(refused(with("metadata: {'a b': x}\n")), HasSubstr("'a b' is no name"));
  EXPECT_THAT(refused(with("metadata: {a: \"x\\ny\"}\n")), HasSubstr("plain ASCII"));
  EXPECT_THAT(refused(with("metadata: {a: 'ü'}\n")), HasSubstr("plain ASCII"));
  EXPECT_THAT(refused(with("metadata: {Millrace-XXH3: x}\n")), HasSubstr("own checksum"));
  EXPECT_THAT(refused(with("metadata: {a: x, A: y}\n")), HasSubstr("twice"));
  EXPECT_THAT(refused(with("metadata: {a: '" + std::string(2048, 'x') + "'}\n")), HasSubstr("S3 takes 2048"));
  // 2048 = the sink's own 13 + 16, and 1 + 2018.
  accepted(with("metadata: {a: '" + std::string(2018, 'x') + "'}\n"));
  EXPECT_THAT(refused(with("metadata: {a: '" + std::string(2019, 'x') + "'}\n")), HasSubstr("2049 bytes"));
}

TEST(StoredAs, TagsWithinTheLimits) {
  EXPECT_THAT(refused(with("tags: {1: a, 2: a, 3: a, 4: a, 5: a, 6: a, 7: a, 8: a, 9: a, 10: a, 11: a}\n")),
              HasSubstr("are 11; an object takes 10"));
  EXPECT_THAT(refused(with("tags: {aws:x: a}\n")), HasSubstr("for AWS alone"));
  EXPECT_THAT(refused(with("tags: {" + std::string(129, 'k') + ": a}\n")), HasSubstr("has 129 bytes"));
  EXPECT_THAT(refused(with("tags: {k: " + std::string(257, 'v') + "}\n")), HasSubstr("its value 257"));
}

TEST(StoredAs, KeysOfAKeyServiceNeedOne) {
  EXPECT_THAT(refused(with("sse_kms_key_id: x\n")), HasSubstr("belongs to sse: kms"));
  EXPECT_THAT(refused(with("sse: s3\nsse_bucket_key: true\n")), HasSubstr("belongs to sse: kms"));
  EXPECT_THAT(refused(with("sse: rot13\n")), HasSubstr("sink.s3.sse"));
  EXPECT_THAT(refused(with("part_size: 4MiB\n")), HasSubstr("sink.s3.part_size"));
  EXPECT_THAT(refused(with("multipart_threshold: 6GiB\n")), HasSubstr("sink.s3.multipart_threshold"));
}

// No silent loss of what somebody has asked for.
TEST(StoredAs, AFolderHasNoPlaceForIt) {
  for (const char* line :
       {"storage_class: STANDARD", "sse: s3", "acl: private", "tags: {a: b}", "metadata: {a: b}", "content_type: a/b",
        "checksum: crc32c", "cleanup_uploads: true", "multipart_threshold: 8MiB", "part_size: 8MiB"}) {
    EXPECT_THAT(refused("url: file:///tmp/out/\n" + std::string(line) + "\n"), HasSubstr("has no meaning with file://"))
        << line;
  }
  EXPECT_EQ(accepted("url: file:///tmp/out/\n").as.multipart_threshold, UINT64_MAX);
}

}  // namespace
}  // namespace millrace::s3_sink
