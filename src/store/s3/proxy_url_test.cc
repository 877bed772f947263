// SPDX-License-Identifier: Apache-2.0
#include "store/s3/proxy_url.h"

#include <gtest/gtest.h>

namespace millrace::s3 {
namespace {

TEST(ProxyUrl, WhatLibcurlTakesIsTaken) {
  for (const char* url :
       {"", "proxy:3128", "http://proxy", "http://proxy:3128/", "https://u:p%2Fw@proxy:1", "HTTP://proxy:80",
        "socks4://p:1", "socks4a://p:1", "socks5://u:p@p:1", "socks5h://[::1]:1080", "u:p@proxy:3128"}) {
    const auto checked = check_proxy_url(url);
    EXPECT_TRUE(checked) << url << ": " << checked.error().message();
  }
}

TEST(ProxyUrl, WhatIsRefusedIsNotQuoted) {
  for (const char* url :
       {"SEKRET://user:SEKRET@h:1", "bogus://user:SEKRET@h:99999", "http://user:SEKRET@h:99999", "ftp://SEKRET@h:21",
        "http://user:SEKRET@ho st:x", "http://user:SEKRET@h:x", "http://user:SEK/RET@h:1", "http://user:1/SEKRET@h:1",
        "http://user:1#SEKRET@h:1", "http://user:1?SEKRET@h:1", "http://user:SEKRET@", "http://user:SEKRET@h:0",
        "http://SEKRET\t@h:1", "://SEKRET"}) {
    const auto checked = check_proxy_url(url);
    ASSERT_FALSE(checked) << url;
    EXPECT_EQ(checked.error().message().find("SEK"), std::string::npos) << checked.error().message();
    EXPECT_EQ(checked.error().message().find("RET"), std::string::npos) << checked.error().message();
    EXPECT_TRUE(checked.error().message().starts_with("store.proxy_url "));
  }
}

TEST(ProxyUrl, ItsSecretsAreItsPartsLongestFirst) {
  EXPECT_EQ(secrets_of_proxy("http://me:p%40ss@proxy.test:1"),
            (std::vector<std::string>{"http://me:p%40ss@proxy.test:1", "me:p%40ss@proxy.test:1", "proxy.test",
                                      "me:p%40ss", "p%40ss", "p@ss", "me", "me"}));
}

}  // namespace
}  // namespace millrace::s3
