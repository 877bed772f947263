// SPDX-License-Identifier: Apache-2.0
// Goal: uploads of the memory store hold tests to what S3 does. Method: one upload, step by step.
#include <gtest/gtest.h>

#include "millrace/testing/memory_store.h"

namespace millrace::testing {
namespace {

// Also where objects have no tags, and however often the log of requests is cleared.
TEST(MemoryUpload, APartThatIsPutAgainIsAnother) {
  MemoryStore store({.etags = MemoryStore::Tags::none});
  const UploadId id = store.begin_upload({.key = "k"}).value();
  store.clear_requests();
  const PartResult first[] = {store.put_part(id, 1, "x").value()};
  store.clear_requests();
  const PartResult second[] = {store.put_part(id, 1, "y").value()};
  EXPECT_NE(first[0].etag, second[0].etag);
  EXPECT_EQ(store.complete_upload(id, first).error().code(), ErrorCode::invalid_request);
  EXPECT_TRUE(store.complete_upload(id, second));
  EXPECT_EQ(store.contents().at("k"), "y");
}

TEST(MemoryUpload, APartWithoutTheChecksumOfItsUploadIsRefused) {
  MemoryStore store;
  const UploadId id = store.begin_upload({.key = "k", .checksum = ChecksumKind::crc32c}).value();
  PartResult parts[] = {store.put_part(id, 1, "123456789").value()};
  parts[0].checksum.clear();
  const auto refused = store.complete_upload(id, parts);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::invalid_request) << refused.error().message();
  parts[0].checksum = "4waSgw==";  // the check value of CRC-32C
  EXPECT_TRUE(store.complete_upload(id, parts));
}

}  // namespace
}  // namespace millrace::testing
