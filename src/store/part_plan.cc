// SPDX-License-Identifier: Apache-2.0
#include "millrace/store/part_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "millrace/base/check.h"

namespace millrace {
namespace {

constexpr std::uint64_t kMiB = 1ULL << 20U;

std::uint64_t divided_up(std::uint64_t value, std::uint64_t by) { return value / by + (value % by == 0 ? 0 : 1); }

}  // namespace

Result<std::uint64_t> choose_part_bytes(std::uint64_t object_bytes, std::uint64_t wanted, const UploadLimits& limits) {
  const auto too_large = [&](std::uint64_t most) {
    return fail(Error::fatal(ErrorCode::limit,
                             fmt::format("an object of {} bytes is larger than the {} that the store takes in {} parts",
                                         object_bytes, most, limits.most_parts)));
  };
  if (object_bytes > limits.most_object_bytes) return too_large(limits.most_object_bytes);
  std::uint64_t bytes = std::min(std::max({wanted, limits.least_part_bytes, std::uint64_t{1}}), limits.most_part_bytes);
  const auto most_parts = static_cast<std::uint64_t>(limits.most_parts);
  if (const std::uint64_t needed = divided_up(object_bytes, most_parts); bytes < needed) {
    if (needed > limits.most_part_bytes) return too_large(limits.most_part_bytes * most_parts);
    bytes = std::min(divided_up(needed, kMiB) * kMiB, limits.most_part_bytes);
  }
  return bytes;
}

Result<PartPlan> PartPlan::make(std::uint64_t object_bytes, std::uint64_t wanted, const UploadLimits& limits) {
  MILLRACE_ASSIGN(const std::uint64_t part_bytes, choose_part_bytes(object_bytes, wanted, limits));
  return PartPlan(object_bytes, part_bytes);
}

PartPlan::PartPlan(std::uint64_t object_bytes, std::uint64_t part_bytes)
    : object_bytes_(object_bytes),
      part_bytes_(part_bytes),
      parts_(static_cast<int>(std::max<std::uint64_t>(divided_up(object_bytes, part_bytes), 1))) {}

PartPlan::Part PartPlan::part(int number) const {
  MILLRACE_CHECK(number >= 1 && number <= parts_, "a part that is not one of the plan's");
  const std::uint64_t offset = static_cast<std::uint64_t>(number - 1) * part_bytes_;
  return {number, offset, std::min(part_bytes_, object_bytes_ - offset)};
}

}  // namespace millrace
