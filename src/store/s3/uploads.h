// SPDX-License-Identifier: Apache-2.0
// An object in parts, as S3 takes it: CreateMultipartUpload, UploadPart, CompleteMultipartUpload, AbortMultipartUpload
// and, only where leftovers of others are cleaned up, ListMultipartUploads. What each promises stands in ObjectStore.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "millrace/base/result.h"
#include "millrace/store/object_store.h"
#include "store/s3/s3_session.h"

namespace millrace::s3 {

[[nodiscard]] Result<UploadId> begin_upload(S3Session& session, const UploadRequest& asked);
[[nodiscard]] Result<PartResult> put_part(S3Session& session, const UploadId& upload, int number, std::string_view body,
                                          std::optional<Duration> timeout);
[[nodiscard]] Result<PutResult> complete_upload(S3Session& session, const UploadId& upload,
                                                std::span<const PartResult> parts, PutCondition condition,
                                                std::optional<Duration> timeout);
[[nodiscard]] Result<void> abort_upload(S3Session& session, const UploadId& upload);
[[nodiscard]] Result<UploadPage> list_uploads(S3Session& session, const ListUploadsRequest& asked);

}  // namespace millrace::s3
