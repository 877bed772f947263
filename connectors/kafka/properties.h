// SPDX-License-Identifier: Apache-2.0
// `properties`: settings of librdkafka by their own names, passed on as they are, but for those that Millrace answers
// for, each refused with its reason. Pure; any thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "connectors/kafka/failures.h"
#include "connectors/kafka/handles.h"
#include "millrace/base/result.h"
#include "millrace/config/config.h"

namespace millrace::kafka {

using Properties = std::map<std::string, std::string>;

/// Why `name` may not be set; nothing when it may.
[[nodiscard]] std::optional<std::string_view> why_denied(std::string_view name, Role role) noexcept;

/// Adds a problem for each name that is denied or unknown and each value that librdkafka refuses. Repeats no value.
void check_properties(const Properties& properties, Role role, const ConfigSection& at, ConfigProblems& problems);

/// Sets one; `value` appears in no message.
[[nodiscard]] Result<void> set(rd_kafka_conf_t& conf, const std::string& name, const std::string& value);
/// Sets all of `properties` that are not denied.
[[nodiscard]] Result<void> set_all(rd_kafka_conf_t& conf, const Properties& properties, Role role);

}  // namespace millrace::kafka
