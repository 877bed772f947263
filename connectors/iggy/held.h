// SPDX-License-Identifier: Apache-2.0
// Held: what a server holds of a partition. An answer without messages is also what a server gives when it could not
// look, so each is held against the partition's own figures before it is believed; where they differ, the error is
// retryable. Asks over a client that is lent for the call, as a reader that stores nothing.
#pragma once

#include <optional>
#include <string>

#include "connectors/iggy/known_message.h"
#include "connectors/iggy/options.h"
#include "connectors/iggy/partition.h"
#include "millrace/connectors/stream.h"

namespace millrace::iggy_source {

/// One past the last message there ever was.
[[nodiscard]] Watermark end_of(const iggy::PartitionInfo& partition) noexcept;
/// Fails (retryable, not_found) when it is not there.
[[nodiscard]] Result<iggy::PartitionInfo> figures(iggy::Client& client, const IggySourceOptions& options,
                                                  Partition partition);
[[nodiscard]] Result<HeldRange> held(iggy::Client& client, const IggySourceOptions& options, Partition partition);
/// The message at that offset; nothing when it was removed, or does not exist yet.
[[nodiscard]] Result<std::optional<KnownMessage>> message_at(iggy::Client& client, const IggySourceOptions& options,
                                                             Partition partition, std::uint64_t offset);
/// Where the first message at or after a time stands, or the end.
[[nodiscard]] Result<Watermark> offset_at(iggy::Client& client, const IggySourceOptions& options, Partition partition,
                                          UnixMicros at, HeldRange range);
/// What became of a message that was read, in words, where something else or nothing stands there now: a killed server
/// loses what it had not written, and gives those offsets to others. Nothing is wrong where retention took it, which
/// takes what is oldest.
[[nodiscard]] Result<std::optional<std::string>> loss_of(iggy::Client& client, const IggySourceOptions& options,
                                                         Partition partition, const KnownMessage& read);

}  // namespace millrace::iggy_source
