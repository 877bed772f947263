// SPDX-License-Identifier: Apache-2.0
// Base64: the vectors of RFC 4648, section 10.
#include "connectors/s3/base64.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <utility>

namespace millrace::s3_source {
namespace {

TEST(Base64, VectorsOfTheRfc) {
  const std::pair<const char*, const char*> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : vectors) {
    EXPECT_EQ(to_base64(bytes), text);
    EXPECT_EQ(from_base64(text), bytes);
  }
  EXPECT_EQ(to_base64("\xFB\xFF"), "+/8=");
}

TEST(Base64, RefusesWhatIsNotCanonical) {
  for (const char* text : {"Zg", "Zg=", "Zh==", "Z===", "====", "Zg==Zg==", "Zm 9", "Zm9v\n", "Z-9v"}) {
    EXPECT_EQ(from_base64(text), std::nullopt) << text;
  }
}

RC_GTEST_PROP(Base64, RoundTrips, (std::string bytes)) { RC_ASSERT(from_base64(to_base64(bytes)) == bytes); }

}  // namespace
}  // namespace millrace::s3_source
