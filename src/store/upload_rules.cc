// SPDX-License-Identifier: Apache-2.0
#include "store/upload_rules.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "millrace/base/printable.h"
#include "store/checksum/checksum.h"

namespace millrace {
namespace {

std::unexpected<Error> invalid(std::string why) {
  return fail(Error::fatal(ErrorCode::invalid_request, std::move(why)));
}

}  // namespace

Result<void> check_part_number(int number, int most_parts) {
  if (number >= 1 && number <= most_parts) return {};
  return fail(Error::fatal(ErrorCode::limit, fmt::format("part {}: parts are numbered 1 to {}", number, most_parts)));
}

Result<void> check_completion(ChecksumKind checksum, std::span<const PartResult> parts, PutCondition condition) {
  if (condition == PutCondition::if_match) return invalid("a completion replaces no exact version");
  if (parts.empty()) return invalid("an upload is completed with one part at least");
  int before = 0;
  for (const PartResult& part : parts) {
    if (part.number <= before) {
      return invalid(
          fmt::format("part {} stands behind part {}: parts are completed in ascending order, each once, from 1 on",
                      part.number, before));
    }
    before = part.number;
    if (checksum != ChecksumKind::none && !checksum_of_parts(checksum, {&part, 1})) {
      return invalid(fmt::format("part {} has no {}, with which the upload was begun: '{}'; put the part again",
                                 part.number, to_string(checksum), printable(part.checksum, 80)));
    }
  }
  return {};
}

}  // namespace millrace
