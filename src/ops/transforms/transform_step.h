// SPDX-License-Identifier: Apache-2.0
// TransformStep: one transform of a list, ready to run in one lane.
#pragma once

#include <variant>

#include "millrace/ops/transform_spec.h"
#include "ops/transforms/drop_fields.h"
#include "ops/transforms/filter_fields.h"
#include "ops/transforms/flatten_fields.h"
#include "ops/transforms/jq_program.h"
#include "ops/transforms/put_fields.h"
#include "ops/transforms/rename_fields.h"
#include "ops/transforms/unwrap_envelope.h"
#include "ops/transforms/where.h"

namespace millrace::transforms {

using TransformStep = std::variant<PutFields, DropFields, KeepFields, FilterFieldsStep, UnwrapStep, Where, RenameStep,
                                   FlattenStep, JqProgram>;

/// Fails (config).
[[nodiscard]] Result<TransformStep> make_step(const ops::TransformSpec& spec);

}  // namespace millrace::transforms
