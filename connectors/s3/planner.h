// SPDX-License-Identifier: Apache-2.0
// For `millrace plan`: opens the stores, lists, reads what is kept, and puts the plan together. Claims, writes and
// locks nothing. One thread.
#pragma once

#include "connectors/s3/options.h"
#include "connectors/s3/plan.h"
#include "connectors/s3/source.h"
#include "millrace/config/config.h"
#include "millrace/pipeline/registry.h"

namespace millrace::s3_source {

[[nodiscard]] Result<Verdict> plan(const ConfigSection& section, const BuildContext& context,
                                   const PlanRequest& request);

/// The same as values. Fails when the prefix cannot be listed.
[[nodiscard]] Result<BackfillPlan> plan_backfill(const Settings& settings, const BuildContext& context,
                                                 const PlanRequest& request, const StoreOpener& open = open_store);

}  // namespace millrace::s3_source
