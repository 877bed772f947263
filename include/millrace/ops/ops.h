// SPDX-License-Identifier: Apache-2.0
// All operators.
#pragma once

#include "millrace/ops/filter.h"
#include "millrace/ops/flat_map.h"
#include "millrace/ops/map.h"
#include "millrace/ops/split.h"
#include "millrace/ops/transforms.h"
