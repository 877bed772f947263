// SPDX-License-Identifier: Apache-2.0
// The one place where a failure of librdkafka or of a broker gets its class, its code and a way out. Pure; any
// thread.
#pragma once

#include <librdkafka/rdkafka.h>

#include <string_view>

#include "millrace/base/error.h"

namespace millrace::kafka {

/// Which side of a pipeline is spoken to: what it may set differs.
enum class Role { source, sink };

/// `doing`: "storing positions"; `detail`: what the library says beside the code, may be empty.
[[nodiscard]] Error error_of(rd_kafka_resp_err_t code, std::string_view doing, std::string_view detail = {},
                             Role role = Role::source);

/// What stands behind RD_KAFKA_RESP_ERR__FATAL: the library does nothing more. Fatal.
[[nodiscard]] Error fatal_error_of(rd_kafka_t* handle, std::string_view doing);

/// A run that was asked to stop while it waited for its first answers. Fatal (cancelled).
[[nodiscard]] Error stopped_unanswered();

/// It is told of one partition, whatever becomes of the others in the same request.
[[nodiscard]] bool says_of_one_partition(rd_kafka_resp_err_t code) noexcept;

/// The group has gone on without this process: whoever has its partitions now reads on from what is stored.
[[nodiscard]] bool says_not_ours(rd_kafka_resp_err_t code) noexcept;

}  // namespace millrace::kafka
