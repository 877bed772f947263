// SPDX-License-Identifier: Apache-2.0
// What people write, and what cannot be said: versions, addresses, names, logins.
#include "connectors/iggy_client/layout.h"

#include <gtest/gtest.h>

#include "connectors/iggy_client/address.h"
#include "connectors/iggy_client/login_secret.h"
#include "connectors/iggy_client/requests.h"
#include "millrace/testing/seeded_random.h"

namespace millrace::iggy {
namespace {

TEST(Versions, AreReadAndPacked) {
  EXPECT_EQ((ProtocolVersion{0, 11, 0}).packed(), 0x2C00U);
  EXPECT_EQ(*parse_protocol_version("0.12.2"), (ProtocolVersion{0, 12, 2}));
  EXPECT_EQ(ProtocolVersion::unpack(0x2C00), (ProtocolVersion{0, 11, 0}));
  for (const char* wrong : {"", "0.11", "0.11.", "0.11.0.1", "a.b.c", "0.1024.0", " 0.11.0", "0.11.0 ", "-1.0.0"}) {
    EXPECT_FALSE(parse_protocol_version(wrong)) << wrong;
  }
}

TEST(Layouts, AVersionThatIsNotKnownIsSaid) {
  EXPECT_TRUE(vsr_layout({0, 11, 7}));
  const auto unknown = vsr_layout({0, 12, 2});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code(), ErrorCode::not_supported);
  EXPECT_NE(unknown.error().message().find("0.12.2"), std::string::npos);
}

TEST(Addresses, HostAndPort) {
  EXPECT_EQ(*Address::parse("localhost:8090"), (Address{"localhost", 8090}));
  EXPECT_EQ(*Address::parse("[::1]:8090"), (Address{"::1", 8090}));
  EXPECT_EQ(Address::parse("[::1]:8090")->to_string(), "[::1]:8090");
  for (const char* wrong :
       {"", "host", "host:", ":8090", "host:0", "host:65536", "::1:8090", "a b:1", "u@h:1", "h:80x"}) {
    EXPECT_FALSE(Address::parse(wrong)) << wrong;
  }
}

TEST(Addresses, WhatStandsBeforeAnAtIsNotShown) {
  const auto parsed = Address::parse("iggy://iggy:secret@host:8090");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().message().find("secret"), std::string::npos) << parsed.error().message();
  EXPECT_NE(parsed.error().message().find("host:8090"), std::string::npos) << parsed.error().message();
}

TEST(Addresses, AHostOfForeignBytes) {
  EXPECT_FALSE(Address::parse(std::string_view("ho\0st:1", 7)));
  // As a cluster may name its nodes.
  EXPECT_EQ((Address{"a\nb", 1}).to_string(), "a\\nb:1");
}

TEST(Options, WhatAClientCannotBeMadeOf) {
  ClientOptions options;
  options.address = "host:8090";
  options.credentials = {"iggy", "iggy", {}, {}};
  EXPECT_TRUE(Client::make(options));
  options.client_id = ClientId{};
  EXPECT_FALSE(Client::make(options)) << "servers drop it in silence";
  options.client_id.reset();
  options.max_reply_bytes = 65'535;
  const auto small = Client::make(options);
  ASSERT_FALSE(small);
  EXPECT_NE(small.error().message().find("max_reply_bytes"), std::string::npos);
  options.max_reply_bytes = 65'536;
  EXPECT_TRUE(Client::make(options));
}

TEST(Names, WhatHasNoBytesOrTooManyCannotBeSaid) {
  EXPECT_TRUE(create_stream_request("").invalid());
  EXPECT_TRUE(create_stream_request(std::string(256, 'x')).invalid());
  EXPECT_FALSE(create_stream_request(std::string(255, 'x')).invalid());
  EXPECT_TRUE(stream_request(Command::get_stream, Identifier::name("")).invalid());
}

TEST(Names, MessagesTooFarApartCannotBeSaidInOneBatch) {
  testing::SeededRandom random(1);
  const OutgoingMessage messages[] = {{"a", {}, {1, 0}, 5}, {"b", {}, {2, 0}, 5 + (std::uint64_t{1} << 32U)}};
  const TopicName topic{Identifier::name("s"), Identifier::name("t")};
  EXPECT_TRUE(send_request(**vsr_layout({}), topic, Partitioning::balanced(), messages, random).invalid());
  EXPECT_FALSE(send_request(classic_layout(), topic, Partitioning::balanced(), messages, random).invalid());
}

TEST(Logins, OneWayAndWhole) {
  EXPECT_TRUE(check_credentials({"iggy", "secret", {}, {}}));
  EXPECT_TRUE(check_credentials({{}, {}, "token", {}}));
  EXPECT_TRUE(check_credentials({{}, {}, {}, "/run/token"}));
  EXPECT_FALSE(check_credentials({}));
  EXPECT_FALSE(check_credentials({"iggy", {}, {}, {}}));
  for (const auto& wrong : {Credentials{"iggy", "secret", "token", {}}, Credentials{{}, {}, "token", "/run/token"}}) {
    const auto checked = check_credentials(wrong);
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().message().find("secret"), std::string::npos);
  }
}

TEST(Logins, ATokenFileThatCannotBeReadIsNamed) {
  const auto read = read_token({{}, {}, {}, "/nowhere/token"});
  ASSERT_FALSE(read);
  EXPECT_TRUE(read.error().is_fatal());
  EXPECT_NE(read.error().message().find("/nowhere/token"), std::string::npos);
}

}  // namespace
}  // namespace millrace::iggy
