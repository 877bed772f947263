// SPDX-License-Identifier: Apache-2.0
// Goal: a reply is the same however the network cuts it, and a lying header costs no memory. Method: recorded replies
// in pieces of every size; headers by hand.
#include "connectors/iggy_client/reply_reader.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "connectors/iggy_client/classic_frame.h"
#include "tests/iggy_rig/capture.h"

namespace millrace::iggy {
namespace {

constexpr std::size_t kLimit = std::size_t{1} << 20U;

std::string with_size(std::uint32_t size, std::uint8_t command) {
  std::string header(kVsrHeader, '\0');
  for (int i = 0; i < 4; ++i) header[48 + i] = static_cast<char>(size >> (8 * i));
  header[60] = static_cast<char>(command);
  return header;
}

// Feeds `bytes` in pieces of `cut`; what is left behind the reply.
Result<std::string_view> feed(ReplyReader& reader, std::string_view bytes, const std::vector<std::size_t>& cuts) {
  reader.begin();
  for (std::size_t i = 0;; ++i) {
    const std::span<char> room = reader.room();
    const std::size_t cut = cuts.empty() ? room.size() : cuts[i % cuts.size()];
    const std::size_t count = std::min({room.size(), cut, bytes.size()});
    bytes.copy(room.data(), count);
    bytes.remove_prefix(count);
    MILLRACE_ASSIGN(const bool whole, reader.filled(count));
    if (whole) return bytes;
    if (bytes.empty()) return fail(Error::retryable(ErrorCode::truncated, "cut off"));
  }
}

void same_however_cut(Framing framing, const std::string& capture, std::size_t header) {
  const auto all = iggy_rig::read_capture(capture);
  std::string bytes;
  for (const auto& exchange : all) bytes += exchange.reply;
  const auto cuts =
      *rc::gen::nonEmpty(rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(1, 700)));
  ReplyReader reader(framing, kLimit);
  std::string_view left = bytes;
  for (const auto& exchange : all) {
    const auto behind = feed(reader, left, cuts);
    RC_ASSERT(behind.has_value());
    RC_ASSERT(reader.body() == std::string_view(exchange.reply).substr(header));
    left = *behind;
  }
  RC_ASSERT(left.empty());
}

RC_GTEST_PROP(ReplyReader, ClassicRepliesAreTheSameHoweverTheyAreCut, ()) {
  same_however_cut(Framing::classic, "classic-0.8.0", kClassicHeader);
}
RC_GTEST_PROP(ReplyReader, VsrRepliesAreTheSameHoweverTheyAreCut, ()) {
  same_however_cut(Framing::vsr, "vsr-0.9.0-edge.5", kVsrHeader);
}

TEST(ReplyReader, ATornReplyIsNotWhole) {
  for (const auto& exchange : iggy_rig::read_capture("vsr-0.9.0-edge.5")) {
    ReplyReader reader(Framing::vsr, kLimit);
    for (const std::size_t size : {std::size_t{1}, kVsrHeader - 1, exchange.reply.size() - 1}) {
      EXPECT_EQ(feed(reader, std::string_view(exchange.reply).substr(0, size), {}).error().code(),
                ErrorCode::truncated);
    }
  }
}

// The header of a poll's reply of 149,936,145 bytes, as a real server gave one.
TEST(ReplyReader, AReplyBeyondTheLimitIsRefusedBeforeItsBytes) {
  ReplyReader vsr(Framing::vsr, kLimit);
  const auto large = feed(vsr, with_size(149'936'145, 8), {});
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code(), ErrorCode::too_large);
  EXPECT_TRUE(large.error().is_retryable());
  ReplyReader classic(Framing::classic, kLimit);
  EXPECT_EQ(feed(classic, iggy_rig::from_hex("00000000ffffffff"), {}).error().code(), ErrorCode::too_large);
}

// At the limit, and nothing has come yet: one step of memory, not what the header speaks of.
TEST(ReplyReader, MemoryFollowsWhatArrives) {
  constexpr std::size_t kLarge = std::size_t{512} << 20U;
  ReplyReader reader(Framing::vsr, kLarge);
  EXPECT_EQ(feed(reader, with_size(kLarge, 8), {}).error().code(), ErrorCode::truncated);
  EXPECT_LE(reader.room().size(), std::size_t{1} << 20U);
  ByteBuffer taken;
  reader.swap_body(taken);
  EXPECT_LE(taken.capacity(), std::size_t{4} << 20U);
}

TEST(ReplyReader, WhatIsNoReplyIsSaid) {
  for (const auto& [size, command] : {std::pair{255U, 8}, {0U, 8}, {256U, 5}, {256U, 0}}) {
    ReplyReader reader(Framing::vsr, kLimit);
    const auto read = feed(reader, with_size(size, static_cast<std::uint8_t>(command)), {});
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code(), ErrorCode::bad_response);
  }
}

TEST(ReplyReader, AnEvictionSaysWhyAndWhichVersions) {
  std::string frame = with_size(256, 13);
  frame[255] = 14;
  frame.replace(144, 8, iggy_rig::from_hex("002c0000002c0000"));
  ReplyReader reader(Framing::vsr, kLimit);
  ASSERT_TRUE(feed(reader, frame, {}));
  ASSERT_TRUE(reader.head().eviction);
  EXPECT_EQ(reader.head().eviction->reason, 14);
  EXPECT_EQ(reader.head().eviction->oldest, (ProtocolVersion{0, 11, 0}));
  EXPECT_EQ(code_of(*reader.head().eviction), 14003U);
}

TEST(ReplyReader, ResultsThatAreCutOffAreNoSuccess) {
  EXPECT_FALSE(read_vsr_results(Operation::store_offset, ""));
  EXPECT_FALSE(read_vsr_results(Operation::store_offset, iggy_rig::from_hex("010000")));
  EXPECT_FALSE(read_vsr_results(Operation::join_group, iggy_rig::from_hex("0100000000000000")));
  EXPECT_FALSE(read_vsr_results(Operation::join_group, iggy_rig::from_hex("ffffffff0000000000000000")));
  EXPECT_EQ(read_vsr_results(Operation::send, "")->status, 0U);
  EXPECT_EQ(read_vsr_results(Operation::create_group, iggy_rig::from_hex("01000000000000008c13000099"))->status, 5004U);
}

}  // namespace
}  // namespace millrace::iggy
