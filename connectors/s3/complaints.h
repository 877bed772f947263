// SPDX-License-Identifier: Apache-2.0
// Complaints: the problems of a sink's options, each under the key that it is about. Used while they are checked.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "millrace/config/config.h"

namespace millrace::s3_sink {

class Complaints {
 public:
  Complaints(const ConfigSection& at, ConfigProblems& problems) : at_(at), problems_(problems) {}
  [[nodiscard]] bool given(std::string_view key) const { return at_.exists() && at_.child(key).exists(); }
  void about(std::string_view key, std::string_view text) {
    const ConfigSection child = at_.exists() ? at_.child(key) : ConfigSection();
    const std::string path = at_.exists() && !at_.path().empty() ? at_.path() + "." : "sink.s3.";
    problems_.add(child.exists() ? child.where()
                  : at_.exists() ? at_.where()
                                 : "",
                  fmt::format("{}{}: {}", path, key, text));
  }
  /// Each line of an error that was made without knowing the key.
  void about(std::string_view key, const Error& error) {
    std::string_view rest = error.message();
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      about(key, rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }

 private:
  const ConfigSection& at_;
  ConfigProblems& problems_;
};

}  // namespace millrace::s3_sink
