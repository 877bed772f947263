// SPDX-License-Identifier: Apache-2.0
// One whole object in one PUT.
#pragma once

#include "millrace/base/result.h"
#include "millrace/store/object_store.h"
#include "store/s3/s3_session.h"

namespace millrace::s3 {

[[nodiscard]] Result<PutResult> put_object(S3Session& session, const PutRequest& asked);

}  // namespace millrace::s3
