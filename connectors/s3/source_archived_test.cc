// SPDX-License-Identifier: Apache-2.0
// What the S3 source makes of objects in a storage class that must be restored before it can be read (E08). The store's
// answers are faults; the expected records are those of the objects that can be read.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "connectors/s3/source_fixture.h"

namespace millrace::s3_source {
namespace {

using millrace::testing::Fault;
using millrace::testing::StoreOp;

TEST_F(SourceTest, E08_AnArchivedObjectIsFoundBeforeAnyDataMoves) {
  fill(2);
  memory->set("in/cold", "9\n", {.storage_class = "GLACIER"});
  const auto refusal = Error::fatal(ErrorCode::not_supported, "403 InvalidObjectState");
  {
    BackfillRig rig(memory);
    rig.store->add({.op = StoreOp::read, .key = "cold", .times = Fault::kAlways, .error = refusal});
    const auto run = rig.run();
    ASSERT_FALSE(run);
    EXPECT_NE(message_of(run).find("s3://b/in/cold"), std::string::npos);
    EXPECT_NE(message_of(run).find("on_archived: skip"), std::string::npos);
    EXPECT_EQ(rig.store->hits(), 1U) << "not a transient error";
    EXPECT_EQ(memory->count(StoreOp::read), 0U);
  }
  {
    BackfillRig rig(memory);
    rig.options.on_archived = OnArchived::skip;
    rig.store->add({.op = StoreOp::read, .key = "cold", .times = Fault::kAlways, .error = refusal});
    ASSERT_EQ(message_of(rig.run()), "succeeded");
    EXPECT_EQ(rig.records.size(), 6U);
    EXPECT_EQ(rig.log->count("skipping an archived object"), 1U);
    EXPECT_TRUE(stored().complete);
  }
}

TEST_F(SourceTest, E08_INV6_WhatIsSkippedIsCountedAndListedAndStaysSo) {
  fill(3);
  // Of a tier that archives by itself, so the listing says nothing: the store's answer alone decides.
  memory->set("in/p-cold", "9\n", {.storage_class = "INTELLIGENT_TIERING"});
  memory->set("in/q-cold", "9\n", {.storage_class = "GLACIER"});
  {
    BackfillRig rig(memory);
    rig.options.on_archived = OnArchived::skip;
    rig.store->add({.op = StoreOp::read,
                    .key = "cold",
                    .times = Fault::kAlways,
                    .error = Error::fatal(ErrorCode::not_supported, "403 InvalidObjectState")});
    ASSERT_EQ(message_of(rig.run()), "succeeded");
    EXPECT_EQ(rig.records.size(), 9U);
    EXPECT_EQ(rig.source().progress().objects_skipped, 2U);
    EXPECT_EQ(rig.metric("etl_s3_source_objects_skipped_total"), 2);
    EXPECT_EQ(stored().skipped.count, 2U);
    const std::vector<std::string> keys = stored().skipped.keys;
    EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()), (std::set<std::string>{"in/p-cold", "in/q-cold"}));
    const std::string summary = rig.source().committed_summary();
    EXPECT_NE(summary.find("2 archived objects were left out"), std::string::npos) << summary;
    EXPECT_NE(summary.find("in/q-cold"), std::string::npos) << summary;
    EXPECT_NE(rig.source().status_json().find("\"objects_skipped\":2"), std::string::npos);
  }
  BackfillRig again(memory);
  again.options.on_archived = OnArchived::skip;
  ASSERT_EQ(message_of(again.run()), "succeeded");
  EXPECT_TRUE(again.records.empty());
  EXPECT_EQ(again.source().progress().objects_skipped, 2U) << "a rerun does not call it whole";
  EXPECT_NE(again.source().committed_summary().find("2 archived objects were left out"), std::string::npos);
}

TEST_F(SourceTest, E08_INV6_NoOtherErrorSkipsAnArchivedObject) {
  fill(2);
  memory->set("in/cold", "9\n", {.storage_class = "GLACIER"});
  for (const Error& error :
       {Error::retryable(ErrorCode::unavailable, "503"), Error::retryable(ErrorCode::timeout, "no answer"),
        Error::fatal(ErrorCode::permission_denied, "403 AccessDenied"), Error::fatal(ErrorCode::not_found, "404"),
        Error::fatal(ErrorCode::precondition_failed, "412"), Error::fatal(ErrorCode::drift, "another size"),
        Error::fatal(ErrorCode::invalid_request, "501")}) {
    BackfillRig rig(memory);
    rig.options.on_archived = OnArchived::skip;
    rig.store->add({.op = StoreOp::read, .key = "cold", .times = Fault::kAlways, .error = error});
    const auto run = rig.run();
    ASSERT_FALSE(run) << error.message();
    EXPECT_NE(message_of(run).find("s3://b/in/cold"), std::string::npos) << message_of(run);
    rig.close();
    EXPECT_FALSE(stored().complete);
    EXPECT_EQ(stored().skipped.count, 0U);
    EXPECT_EQ(rig.metric("etl_s3_source_objects_skipped_total"), 0);
  }
}

TEST_F(SourceTest, E08_AnObjectArchivedWhileItIsHalfCommittedIsNotSkipped) {
  memory->set("in/cold", "1\n2\n3\n");
  {
    BackfillRig rig(memory);
    rig.options.lanes = 1;
    rig.max_records = 1;
    ASSERT_TRUE(rig.open());
    ASSERT_TRUE(rig.poll_records(1));
    ASSERT_TRUE(rig.commit());
  }
  BackfillRig rig(memory);
  rig.options.lanes = 1;
  rig.options.on_archived = OnArchived::skip;
  rig.store->add(
      {.op = StoreOp::read, .times = Fault::kAlways, .error = Error::fatal(ErrorCode::not_supported, "403")});
  const auto run = rig.run();
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().code(), ErrorCode::not_supported);
  EXPECT_NE(message_of(run).find("Restore it"), std::string::npos) << message_of(run);
}

TEST_F(SourceTest, E08_WhatCannotBeReadForAnotherReasonIsNotCalledArchived) {
  memory->set("in/cold", "9\n", {.storage_class = "GLACIER"});
  BackfillRig rig(memory);
  rig.store->add({.op = StoreOp::read,
                  .times = Fault::kAlways,
                  .error = Error::fatal(ErrorCode::permission_denied, "403 AccessDenied")});
  const auto run = rig.run();
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().code(), ErrorCode::permission_denied);
  EXPECT_EQ(message_of(run).find("has not been restored"), std::string::npos) << message_of(run);
  EXPECT_NE(message_of(run).find("s3://b/in/cold"), std::string::npos);
}

TEST_F(SourceTest, E08_ARestoredCopyIsRead) {
  memory->set("in/cold", "9\n", {.storage_class = "DEEP_ARCHIVE"});
  BackfillRig rig(memory);
  ASSERT_EQ(message_of(rig.run()), "succeeded");
  EXPECT_EQ(rig.records.size(), 1U);
}

TEST_F(SourceTest, E08_INV6_TheReceiptSaysWhatWasLeftOutAndWhy) {
  memory->set("in/a-empty", "");
  memory->set("in/cold", "9\n", {.storage_class = "GLACIER"});
  BackfillRig rig(memory);
  rig.options.on_archived = OnArchived::skip;
  rig.options.receipt.url = "s3://b/receipts/r.ndjson";
  rig.store->add({.op = StoreOp::read,
                  .key = "cold",
                  .times = Fault::kAlways,
                  .error = Error::fatal(ErrorCode::not_supported, "403 InvalidObjectState")});
  ASSERT_EQ(message_of(rig.run()), "succeeded");
  const std::string receipt = memory->contents().at("receipts/r.ndjson");
  EXPECT_NE(receipt.find("\"size\":2,\"left_out\":\"archived\"}"), std::string::npos) << receipt;
  EXPECT_NE(receipt.find("\"objects\":{\"listed\":2,\"read\":0,\"empty\":1,\"left_out\":1,\"quarantined\":0}"),
            std::string::npos)
      << receipt;
}

TEST_F(SourceTest, INV6_AFinishedReceiptIsGivenUpAloudWhereMoreIsReadWithoutIt) {
  memory->set("in/a", "1\n");
  BackfillRig first(memory);
  first.options.receipt.url = "s3://b/receipts/r.ndjson";
  ASSERT_EQ(message_of(first.run()), "succeeded");
  ASSERT_TRUE(stored().receipt && stored().receipt->finished);
  const std::string receipt = memory->contents().at("receipts/r.ndjson");
  // With nothing left to do it still holds.
  BackfillRig idle(memory);
  ASSERT_EQ(message_of(idle.run()), "succeeded");
  EXPECT_EQ(idle.log->count("the finished receipt does not hold"), 0U);
  EXPECT_TRUE(stored().receipt);
  memory->set("in/b", "2\n");
  BackfillRig without(memory);
  ASSERT_EQ(message_of(without.run()), "succeeded");
  EXPECT_EQ(without.records.size(), 1U);
  EXPECT_EQ(without.log->count("warn the finished receipt does not hold what is read from now on"), 1U);
  EXPECT_FALSE(stored().receipt);
  EXPECT_EQ(memory->contents().at("receipts/r.ndjson"), receipt) << "what it says stays true";
}

// A store that throttles while the receipt so far is read is waited for, as for anything else.
TEST_F(SourceTest, H01_TheReceiptSoFarIsReadPatiently) {
  memory->set("in/a-empty", "");
  const auto with_receipt = [](BackfillRig& rig) { rig.options.receipt.url = "s3://b/receipts/r.ndjson"; };
  BackfillRig first(memory);
  with_receipt(first);
  ASSERT_EQ(message_of(first.run()), "succeeded");
  memory->set("in/b-empty", "");
  BackfillRig second(memory);
  with_receipt(second);
  second.store->add(
      {.op = StoreOp::get, .key = "receipts/", .times = 2, .error = Error::retryable(ErrorCode::throttled, "503")});
  ASSERT_EQ(message_of(second.run()), "succeeded");
  EXPECT_EQ(second.store->hits(), 2U);
  EXPECT_NE(memory->contents().at("receipts/r.ndjson").find("\"listed\":2"), std::string::npos);
}

}  // namespace
}  // namespace millrace::s3_source
