// SPDX-License-Identifier: Apache-2.0
// An object's key in JSON: a string when it is valid UTF-8, else {"base64": "..."}. For the files that write JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "connectors/s3/base64.h"
#include "millrace/base/utf8.h"

namespace millrace::s3_source {

inline nlohmann::ordered_json bytes_json(const std::string& bytes) {
  if (first_invalid_utf8(bytes) == std::string::npos) return bytes;
  return nlohmann::ordered_json{{"base64", to_base64(bytes)}};
}

}  // namespace millrace::s3_source
