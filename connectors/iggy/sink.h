// SPDX-License-Identifier: Apache-2.0
// TopicSink: a topic of Iggy as a sink: how records are encoded for it, and whether it is there before one moves.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "connectors/iggy/message_ids.h"
#include "connectors/iggy/sink_metrics.h"
#include "millrace/base/stop_signal.h"
#include "millrace/connectors/iggy.h"
#include "millrace/iggy_client/client.h"
#include "millrace/sink/sink.h"

namespace millrace::iggy_sink {

class TopicSink final : public Sink {
 public:
  explicit TopicSink(IggySinkOptions options);

  [[nodiscard]] std::string_view type() const override { return "iggy"; }
  [[nodiscard]] SealPolicy seal_policy() const override;
  [[nodiscard]] EncodeSpec encode_spec() const override;
  [[nodiscard]] RetryPolicy retry_policy() const override;
  [[nodiscard]] SinkTraits traits() const override;
  /// Connects, logs in and looks for the topic, for at most connect_timeout.
  [[nodiscard]] Result<void> open(SinkContext context) override;
  [[nodiscard]] Result<std::unique_ptr<Writer>> make_writer() override;

 private:
  [[nodiscard]] Result<void> look_for_topic(iggy::Client& client, StopSignal& stop);
  [[nodiscard]] Result<void> look_once(iggy::Client& client, SteadyTime until);
  [[nodiscard]] Result<std::optional<iggy::TopicInfo>> create(iggy::Client& client) const;
  [[nodiscard]] Error missing(iggy::Client& client) const;

  const IggySinkOptions options_;
  SinkContext context_;
  SinkMetrics metrics_;
  std::optional<MessageIds> ids_;  ///< which every writer begins with
};

}  // namespace millrace::iggy_sink
