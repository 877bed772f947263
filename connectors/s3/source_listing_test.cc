// SPDX-License-Identifier: Apache-2.0
// The listing that a backfill keeps beside its manifest: when it is written, what it tells when objects change, and
// that no run depends on it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "connectors/s3/packed_listing.h"
#include "connectors/s3/rolling_hash.h"
#include "connectors/s3/source_fixture.h"

namespace millrace::s3_source {
namespace {

using millrace::testing::Fault;
using millrace::testing::StoreOp;
using ::testing::HasSubstr;

constexpr const char* kListing = "ck/manifest.listing.zst";

class ListingBeside : public SourceTest {
 protected:
  /// A run of one lane that commits the first two of its objects and is killed.
  void stop_half_way() {
    fill(4);
    BackfillRig first(memory);
    first.options.lanes = 1;
    ASSERT_TRUE(first.open());
    ASSERT_TRUE(first.poll_records(6));
    ASSERT_TRUE(first.commit());
    first.kill();
  }
  std::string resumed() {
    BackfillRig second(memory);
    second.options.lanes = 1;
    second.flags.take_over = true;
    const auto ended = second.run();
    log = second.log;
    return ended ? "succeeded" : ended.error().describe();
  }
  std::shared_ptr<LogCapture> log;
};

TEST_F(ListingBeside, IsWrittenBeforeAManifestNamesIt) {
  fill(4);
  BackfillRig run(memory);
  std::string named_meanwhile = "not written";
  run.store->add(
      {.op = StoreOp::put, .key = kListing, .before = [&] { named_meanwhile = stored().kept_listing.name; }});
  ASSERT_EQ(message_of(run.run()), "succeeded");
  EXPECT_EQ(named_meanwhile, "");
  const std::string bytes = memory->contents().at(kListing);
  EXPECT_EQ(stored().kept_listing, (StoredRecord{"manifest.listing.zst", bytes.size(), hash_bytes(bytes)}));
}

// The worst place for a crash: the listing is there, the manifest does not name it yet.
TEST_F(ListingBeside, ACrashBeforeItIsNamedLeavesItToTheNextRun) {
  fill(4);
  BackfillRig first(memory);
  first.options.lanes = 1;
  // The claim, the probe, and then the save that would name it.
  first.store->add({.op = StoreOp::put,
                    .key = "manifest.json",
                    .nth = 3,
                    .times = Fault::kAlways,
                    .error = Error::fatal(ErrorCode::cancelled, "killed")});
  ASSERT_TRUE(first.open());
  first.close();
  ASSERT_TRUE(memory->contents().contains(kListing));
  ASSERT_EQ(stored().kept_listing, StoredRecord());
  memory->set(kListing, "half of one");
  EXPECT_EQ(resumed(), "succeeded");
  EXPECT_EQ(stored().kept_listing.bytes, memory->contents().at(kListing).size());
  EXPECT_TRUE(stored().complete);
}

TEST_F(ListingBeside, TellsWhichObjectsDriftedBelowAPosition) {
  stop_half_way();
  memory->set(key(0), "{\"another\":1}\n");
  memory->set("in/o0005.ndjson", "{}\n");
  memory->erase(key(3));
  const std::string told = resumed();
  EXPECT_THAT(told, HasSubstr("since the first run=1 added ('in/o0005.ndjson' (3 bytes, ETag "));
  EXPECT_THAT(told, HasSubstr("), 1 removed ('in/o003.ndjson' ("));
  EXPECT_THAT(told, HasSubstr("), 1 changed ('in/o000.ndjson' (was 42 bytes, ETag "));
  EXPECT_THAT(told, HasSubstr("; is 14 bytes, ETag "));
  EXPECT_THAT(told, HasSubstr("all of them=millrace status FILE --drift"));
}

TEST_F(ListingBeside, TellsWhatChangedBehindEveryPositionAndStaysTheFirst) {
  stop_half_way();
  const std::string kept = memory->contents().at(kListing);
  memory->set("in/z.ndjson", "{}\n");
  EXPECT_EQ(resumed(), "succeeded");
  EXPECT_EQ(log->count("since_the_first_run=1 added ('in/z.ndjson' (3 bytes, ETag "), 1U) << log->all();
  EXPECT_EQ(memory->contents().at(kListing), kept);
}

TEST_F(ListingBeside, GoneOrDamagedItIsSaidAndKeptAnew) {
  stop_half_way();
  memory->erase(kListing);
  memory->set("in/z.ndjson", "{}\n");
  EXPECT_EQ(resumed(), "succeeded");
  EXPECT_EQ(log->count("since_the_first_run=the kept listing s3://b/ck/manifest.listing.zst is gone"), 1U)
      << log->all();
  const std::string bytes = memory->contents().at(kListing);
  EXPECT_EQ(stored().kept_listing.hash, hash_bytes(bytes));

  memory->set(kListing, bytes + "x");
  memory->set(key(0), "{\"another\":1}\n");
  EXPECT_THAT(resumed(),
              HasSubstr("since the first run=the kept listing s3://b/ck/manifest.listing.zst has more than"));
}

TEST_F(ListingBeside, AStoreThatDoesNotTakeItHoldsUpNobody) {
  fill(4);
  BackfillRig run(memory);
  run.store->add({.op = StoreOp::put, .key = kListing, .error = Error::fatal(ErrorCode::permission_denied, "403")});
  ASSERT_EQ(message_of(run.run()), "succeeded");
  EXPECT_EQ(run.log->count("warn the listing could not be kept beside the manifest"), 1U) << run.log->all();
  EXPECT_EQ(stored().kept_listing, StoredRecord());
  EXPECT_TRUE(stored().complete);
}

TEST_F(ListingBeside, AnEmptyOneIsNotKept) {
  BackfillRig run(memory);
  ASSERT_EQ(message_of(run.run()), "succeeded");
  EXPECT_FALSE(memory->contents().contains(kListing));
}

}  // namespace
}  // namespace millrace::s3_source
