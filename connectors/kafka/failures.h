// SPDX-License-Identifier: Apache-2.0
// The one place where a failure of librdkafka or of a broker gets its class, its code and a way out. Pure; any thread.
#pragma once

#include <librdkafka/rdkafka.h>

#include <string_view>

#include "millrace/base/error.h"

namespace millrace::kafka {

/// `doing`: "storing positions"; `detail`: what the library says beside the code, may be empty.
[[nodiscard]] Error error_of(rd_kafka_resp_err_t code, std::string_view doing, std::string_view detail = {});

/// The group has gone on without this process: whoever has its partitions now reads on from what is stored.
[[nodiscard]] bool says_not_ours(rd_kafka_resp_err_t code) noexcept;

}  // namespace millrace::kafka
