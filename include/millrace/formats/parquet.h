// SPDX-License-Identifier: Apache-2.0
// Apache Parquet, through Apache Arrow C++: what a sink is given so that it can write it (component millrace::parquet,
// which is there where Arrow was found when the library was built). Typed chains end in encode::rows(sink's
// encode_spec()).
#pragma once

#include "millrace/encode/columnar.h"

#pragma GCC visibility push(default)
namespace millrace {

[[nodiscard]] ColumnarKind parquet_format();

}  // namespace millrace
#pragma GCC visibility pop
