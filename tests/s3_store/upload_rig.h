// SPDX-License-Identifier: Apache-2.0
// Uploads in parts on the fault server, for tests.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/store/part_plan.h"
#include "tests/s3_store/fixture.h"

namespace millrace::s3::testing {

inline std::vector<std::string> operations(const Fixture& f) {
  std::vector<std::string> all;
  for (const auto& request : f.server->requests()) all.push_back(request.operation);
  return all;
}

/// Puts every part of a plan and completes it.
inline Result<PutResult> upload(Fixture& f, const std::string& key, std::string_view bytes, const PartPlan& plan,
                                ChecksumKind checksum = ChecksumKind::none) {
  MILLRACE_ASSIGN(const UploadId id, f.store->begin_upload({.key = key, .checksum = checksum}));
  std::vector<PartResult> parts;
  for (int number = 1; number <= plan.parts(); ++number) {
    const auto part = plan.part(number);
    MILLRACE_ASSIGN(PartResult put, f.store->put_part(id, number, bytes.substr(part.offset, part.size)));
    parts.push_back(std::move(put));
  }
  return f.store->complete_upload(id, parts);
}

}  // namespace millrace::s3::testing
