// SPDX-License-Identifier: Apache-2.0
// A plan for people and for programs (docs/guide/plan.md). Pure.
#pragma once

#include <string>

#include "connectors/s3/plan.h"

namespace millrace::s3_source {

/// Lines in aligned columns, as those of `millrace status`.
[[nodiscard]] std::string plan_text(const BackfillPlan& plan);
/// One JSON document, with its line end.
[[nodiscard]] std::string plan_json(const BackfillPlan& plan);

}  // namespace millrace::s3_source
