// SPDX-License-Identifier: Apache-2.0
// What S3 answers to each operation of the fault server, without its faults. Functions of the request and the table.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tests/s3_fault_server/fault_script.h"
#include "tests/s3_fault_server/fault_server.h"
#include "tests/s3_fault_server/http_message.h"
#include "tests/s3_fault_server/object_table.h"

namespace millrace::testing {

/// An XML error as S3 writes it; `extra` is put in as it is.
[[nodiscard]] HttpAnswer error_answer(int status, std::string_view code, std::string_view message,
                                      std::string_view extra = {});

[[nodiscard]] std::string xml_escaped(std::string_view text);

/// What the headers of a write say of the object.
[[nodiscard]] StoredObject described_object(const HttpRequest& http);

/// Serves the operation as the fault (which may be an empty one) bends it.
[[nodiscard]] HttpAnswer serve(const LoggedRequest& request, ObjectTable& objects, std::size_t page_size,
                               const ServerFault& fault);

/// "Fri, 24 May 2013 00:00:00 GMT"
[[nodiscard]] std::string http_date(UnixMicros time);

}  // namespace millrace::testing
