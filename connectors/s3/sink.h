// SPDX-License-Identifier: Apache-2.0
// The S3 sink from checked options and a way to open stores, which tests bring themselves.
#pragma once

#include <functional>
#include <memory>

#include "connectors/s3/sink_options.h"
#include "millrace/encode/columnar.h"
#include "millrace/sink/sink.h"
#include "millrace/store/store_url.h"

namespace millrace::s3_sink {

using StoreOpener =
    std::function<Result<std::shared_ptr<ObjectStore>>(const StoreUrl&, const StoreOptions&, const StoreContext&)>;

[[nodiscard]] std::unique_ptr<Sink> make_sink(CheckedOptions options, StoreOpener opener, ColumnarKind parquet = {});

}  // namespace millrace::s3_sink
