// SPDX-License-Identifier: Apache-2.0
// What the sink's keys mean: checked together, and as client and lanes want them. Pure.
#pragma once

#include <cstddef>
#include <string>

#include "millrace/config/config.h"
#include "millrace/connectors/iggy.h"
#include "millrace/iggy_client/client.h"
#include "millrace/sink/sink.h"

namespace millrace::iggy_sink {

/// Bytes that a message takes in a request beside payload and user headers, in either framing.
inline constexpr std::size_t kAroundMessage = 80;

/// Adds what is wrong with keys that are each right. `at`: their section.
void check(const IggySinkOptions& options, const ConfigSection& at, ConfigProblems& problems);
/// The same for options that were made in code.
[[nodiscard]] Result<void> check(const IggySinkOptions& options);

[[nodiscard]] iggy::TopicName topic_name(const IggySinkOptions& options);
/// "'s/t'", for messages.
[[nodiscard]] std::string text_of(const iggy::TopicName& topic);
[[nodiscard]] iggy::ClientOptions client_options(const IggySinkOptions& options, const SinkContext& context);

}  // namespace millrace::iggy_sink
