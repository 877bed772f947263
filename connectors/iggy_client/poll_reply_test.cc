// SPDX-License-Identifier: Apache-2.0
// Goal: no bytes whatever make the decoder of polls read beyond them, take memory by a count, or pass on what was
// damaged. Method: recorded replies, cut at each byte and with each bit turned; replies made by hand.
#include "connectors/iggy_client/poll_reply.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstring>

#include "connectors/iggy_client/byte_reader.h"
#include "tests/iggy_rig/capture.h"

namespace millrace::iggy {
namespace {

struct Kind {
  const Layout* layout;
  const char* capture;
  std::size_t header;
};
Kind kind_of(Framing framing) {
  if (framing == Framing::classic) return {&classic_layout(), "classic-0.8.0", 8};
  return {*vsr_layout({}), "vsr-0.9.0-edge.5", 256};
}

class PollReply : public ::testing::TestWithParam<Framing> {
 protected:
  [[nodiscard]] Result<std::size_t> decode(std::string_view body, bool verify = true) {
    PolledMessages out;
    // On the heap, to the byte, so that reading beyond it is seen.
    const std::string exact(body);
    const std::vector<char> bytes(exact.begin(), exact.end());
    PollReplyDecoder decoder(*kind_.layout, verify);
    MILLRACE_TRY(decoder.decode({bytes.data(), bytes.size()}, out));
    return out.messages().size();
  }
  const Kind kind_ = kind_of(GetParam());
  const std::string body_ =
      iggy_rig::find_exchange(iggy_rig::read_capture(kind_.capture), "poll all").reply.substr(kind_.header);
};

TEST_P(PollReply, CutAnywhereItIsRefused) {
  ASSERT_EQ(*decode(body_), 5U);
  for (std::size_t size = 0; size < body_.size(); ++size) {
    EXPECT_FALSE(decode(std::string_view(body_).substr(0, size))) << size;
    EXPECT_FALSE(decode(std::string_view(body_).substr(0, size), false)) << size;
  }
  EXPECT_FALSE(decode(body_ + '\0'));
}

// Everything behind the prefix is under a checksum, the prefix is bounded.
TEST_P(PollReply, ADamagedBitIsSeen) {
  for (std::size_t at = 16; at < body_.size(); ++at) {
    for (const int bit : {0, 3, 7}) {
      std::string damaged = body_;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      EXPECT_FALSE(decode(damaged)) << at << " bit " << bit;
      static_cast<void>(decode(damaged, false));
    }
  }
}

TEST_P(PollReply, ADamagedMessageIsNamed) {
  std::string damaged = body_;
  const std::size_t at = damaged.find("{\"n\":3}");
  damaged[at + 5] = '8';
  const auto refused = decode(damaged);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::corrupt);
  EXPECT_NE(refused.error().message().find("message at offset 3"), std::string::npos) << refused.error().message();
  EXPECT_EQ(*decode(damaged, false), 5U);
}

TEST_P(PollReply, ACountThatTheBytesDoNotBearOutTakesNoMemory) {
  for (const std::uint32_t count : {6U, 0x7FFFFFFFU, 0xFFFFFFFFU}) {
    std::string lying = body_;
    lying.replace(12, 4, reinterpret_cast<const char*>(&count), 4);
    const auto refused = decode(lying);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::bad_response);
  }
  std::string fewer = body_;
  fewer[12] = 4;
  EXPECT_FALSE(decode(fewer));
  fewer[12] = 0;
  EXPECT_FALSE(decode(fewer));
}

TEST_P(PollReply, AnyBytesAtAll) {
  const auto prefix = body_.substr(0, 16);
  rc::check([&](const std::string& bytes, bool verify) {
    static_cast<void>(decode(bytes, verify));
    static_cast<void>(decode(prefix + bytes, verify));
  });
}

// The one behind it would have no place in 63 bits.
TEST_P(PollReply, OffsetsThatCannotBeCountedAreRefused) {
  const std::size_t last = sizeof(std::uint32_t);
  const std::size_t first = GetParam() == Framing::classic ? 16 + 24 : 16 + kind_.layout->poll_context + 8;
  for (const std::uint64_t offset : {std::uint64_t{INT64_MAX}, std::uint64_t{1} << 63U, UINT64_MAX}) {
    for (const std::size_t at : {last, first}) {
      std::string foreign = body_;
      std::memcpy(foreign.data() + at, &offset, sizeof offset);
      const auto refused = decode(foreign, false);
      ASSERT_FALSE(refused) << offset << " at " << at;
      EXPECT_EQ(refused.error().code(), ErrorCode::bad_response);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Both, PollReply, ::testing::Values(Framing::classic, Framing::vsr),
                         [](const auto& one) { return std::string(to_string(one.param)); });

// Out of order within one reply: positions would go back.
TEST(PollReplyOrder, OffsetsRiseStrictly) {
  const auto reply = iggy_rig::find_exchange(iggy_rig::read_capture("classic-0.8.0"), "poll all").reply.substr(8);
  // The message at offset 1 stands twice: each is whole, and its checksum fits.
  const std::size_t second = reply.find("{\"n\":1}") - kSingleHeader;
  const std::string again = reply.substr(second, kSingleHeader + 7 + 13);
  std::string twice = reply.substr(0, 16) + again + again;
  twice[12] = 2;
  PolledMessages out;
  const auto refused = PollReplyDecoder(classic_layout(), true).decode(twice, out);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("offset 1 follows offset 1"), std::string::npos);
}

TEST(PollReplyMemory, AnEmptyPollSaysNothingOfTheEnd) {
  PolledMessages out;
  ASSERT_TRUE(PollReplyDecoder(classic_layout(), true).decode(std::string(16, '\0'), out));
  EXPECT_FALSE(out.last_offset());
  EXPECT_FALSE(out.not_ours());
}

}  // namespace
}  // namespace millrace::iggy
