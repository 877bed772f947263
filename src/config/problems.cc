// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "millrace/config/config.h"

namespace millrace {
namespace {

/// What a person reads before fixing something first.
constexpr std::size_t kShown = 50;

}  // namespace

void ConfigProblems::add(std::string where, std::string text) {
  problems_.push_back(where.empty() ? std::move(text) : std::move(where) + ": " + text);
}

void ConfigProblems::add(const Error& error) {
  for (std::string_view rest = error.message(); !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    if (!line.empty()) problems_.emplace_back(line);
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
  }
}

void ConfigProblems::add(const ConfigProblems& more) {
  problems_.insert(problems_.end(), more.problems_.begin(), more.problems_.end());
}

Result<void> ConfigProblems::result() const {
  if (problems_.empty()) return {};
  std::string all;
  for (std::size_t i = 0; i < problems_.size(); ++i) {
    if (!all.empty()) all += '\n';
    if (i == kShown) {
      all += fmt::format("and {} more", problems_.size() - kShown);
      break;
    }
    all += problems_[i];
  }
  return fail(Error::config(std::move(all)));
}

}  // namespace millrace
