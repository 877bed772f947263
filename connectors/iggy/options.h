// SPDX-License-Identifier: Apache-2.0
// What the keys mean: checked together, and as the client wants them. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "connectors/iggy/partition.h"
#include "millrace/config/config.h"
#include "millrace/connectors/iggy.h"
#include "millrace/iggy_client/client.h"
#include "millrace/source/source.h"

namespace millrace::iggy_source {

/// Adds what is wrong with keys that are each right. `at`: their section.
void check(const IggySourceOptions& options, const ConfigSection& at, ConfigProblems& problems);
/// The same for options that were made in code.
[[nodiscard]] Result<void> check(const IggySourceOptions& options);

/// Of options that are checked. Without a member's name everybody is somebody new.
[[nodiscard]] iggy::ClientOptions client_options(const IggyConnectionOptions& options, const SourceContext& context);
/// Whom positions are stored for.
[[nodiscard]] iggy::Consumer consumer_of(const IggySourceOptions& options);
/// Who reads explicit positions and stores nothing: whoever asks.
[[nodiscard]] iggy::Consumer reader();
[[nodiscard]] iggy::TopicName topic_name(const IggySourceOptions& options, std::uint32_t topic);
/// "topic 's/t'"
[[nodiscard]] std::string topic_text(const IggySourceOptions& options, std::uint32_t topic);
/// "'s/t' partition 3"
[[nodiscard]] std::string text(const IggySourceOptions& options, Partition partition);
/// That `what` is not there, in words with the way out.
[[nodiscard]] Error missing(const std::string& what);
/// The member's own id, made of its name; nothing where it has none.
[[nodiscard]] std::optional<iggy::ClientId> member_id(const IggySourceOptions& options);
/// The numbers that `partitions` lists; empty: all.
[[nodiscard]] std::vector<std::uint32_t> listed_partitions(const IggySourceOptions& options);

}  // namespace millrace::iggy_source
