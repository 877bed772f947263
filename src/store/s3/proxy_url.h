// SPDX-License-Identifier: Apache-2.0
// The proxy's url, which may carry a password: checked before libcurl sees it, since libcurl quotes what it refuses.
// Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"

namespace millrace::s3 {

/// Refuses (config) what libcurl cannot use as a proxy. The message never repeats the value. Empty: no proxy.
[[nodiscard]] Result<void> check_proxy_url(const std::string& url);

/// What no message may show of it: the url, the host, the user information, as written and decoded. Longest first.
[[nodiscard]] std::vector<std::string> secrets_of_proxy(const std::string& url);

}  // namespace millrace::s3
