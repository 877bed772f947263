// SPDX-License-Identifier: Apache-2.0
// Goal: a message about a url says which one it is and repeats no secret. Method: urls by hand.
#include "store/shown_url.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(ShownUrl, UserAndQueryAreHidden) {
  const struct {
    std::string_view url;
    std::string_view shown;
  } cases[] = {
      {"http://169.254.170.2/v2/creds", "http://169.254.170.2/v2/creds"},
      {"/v2/creds", "/v2/creds"},
      {"http://h/creds?token=x", "http://h/creds?***"},
      {"http://h/creds#x", "http://h/creds#***"},
      {"http://user:pw@h:80/creds", "http://***@h:80/creds"},
      {"http://user:p/w@h/creds", "http://***@h/creds"},
      {"http://user:p@w@h/creds?x", "http://***@h/creds?***"},
      {"http://user:p?w@h/creds", "http://***"},
      {"http://user:p#w@h/creds", "http://***"},
      {"http://user:pw@h/creds?x=a@b", "http://***"},
      {"http://tok/en@h/creds", "http://***@h/creds"},
      {"http://h/a\nb", "http://h/a\\nb"},
      {"", ""},
  };
  for (const auto& c : cases) EXPECT_EQ(shown_url(c.url), c.shown) << c.url;
}

TEST(ShownUrl, AKeyIsShownWhole) {
  EXPECT_EQ(shown_key_url("s3://b/a@b?c#d"), "s3://b/a@b?c#d");
  EXPECT_EQ(shown_key_url("s3://AKIA:p?w@b/a?c"), "s3://***@b/a?c");
}

}  // namespace
}  // namespace millrace
