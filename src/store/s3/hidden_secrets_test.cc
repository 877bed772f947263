// SPDX-License-Identifier: Apache-2.0
// Goal: nothing that was given in confidence is repeated, nor are credentials that have just been replaced.
#include "store/s3/hidden_secrets.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace millrace::s3 {
namespace {

std::shared_ptr<const Credentials> generation(int number) {
  return std::make_shared<const Credentials>(Credentials{fmt::format("AK{}", number), fmt::format("secret-{}", number),
                                                         fmt::format("token-{}", number), INT64_MAX, "a test"});
}

TEST(HiddenSecrets, TheLastGenerationsAndWhatIsFixed) {
  HiddenSecrets secrets({"proxy-password"});
  std::string text = "proxy-password, not secret-1";
  secrets.hide(text);
  EXPECT_EQ(text, "***, not secret-1");
  for (int number = 1; number <= 3; ++number) {
    const auto credentials = generation(number);
    for (int request = 0; request < 10; ++request) secrets.use(credentials);
  }
  text = "secret-1 token-1 AK1 secret-2 token-2 AK2 secret-3 token-3 AK3 secret-3";
  secrets.hide(text);
  EXPECT_EQ(text, "*** *** *** *** *** *** *** *** *** ***");
}

}  // namespace
}  // namespace millrace::s3
