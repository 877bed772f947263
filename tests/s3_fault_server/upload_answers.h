// SPDX-License-Identifier: Apache-2.0
// What S3 answers to the five requests of an upload in parts, as a fault may bend them.
#pragma once

#include <string_view>

#include "tests/s3_fault_server/fault_script.h"
#include "tests/s3_fault_server/fault_server.h"
#include "tests/s3_fault_server/http_message.h"

namespace millrace::testing {

/// CreateMultipartUpload, UploadPart, CompleteMultipartUpload, AbortMultipartUpload, ListMultipartUploads, by the words
/// of the query; empty for any other request.
[[nodiscard]] std::string_view upload_operation(const LoggedRequest& request);

[[nodiscard]] HttpAnswer serve_upload(const LoggedRequest& request, ObjectTable& objects, UploadTable& uploads,
                                      std::size_t page_size, const ServerFault& fault);

}  // namespace millrace::testing
