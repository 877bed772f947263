// SPDX-License-Identifier: Apache-2.0
// IggyLane: one partition, read from its feed on the lane's own thread. What a poll lends are views of one reply of the
// server, which stays until the next poll.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "connectors/iggy/lane_feed.h"
#include "connectors/iggy/metrics.h"
#include "millrace/ack/ack_issuer.h"
#include "millrace/iggy_client/user_headers.h"
#include "millrace/record/record_meta.h"
#include "millrace/source/lane.h"

namespace millrace::iggy_source {

class IggyLane final : public SourceLane {
 public:
  struct Setup {
    LaneId id;
    std::shared_ptr<LaneFeed> feed;
    AckIssuer acks;
    std::shared_ptr<const Origin> origin;
    Clock* clock = nullptr;
    Waker control;  ///< woken at the lane's end
    Metrics metrics;
  };
  explicit IggyLane(Setup setup) : setup_(std::move(setup)) {}

  [[nodiscard]] LaneId id() const override { return setup_.id; }
  [[nodiscard]] PartitionId partition() const override { return id_of(setup_.feed->partition()); }
  [[nodiscard]] Result<PollResult> poll(std::size_t max_records, Duration timeout) override;
  bool set_waker(Waker waker) override;

 private:
  void clear();
  void append(const iggy::Message& message);
  void append_headers(std::string_view block);
  [[nodiscard]] PollResult batch();
  [[nodiscard]] std::size_t within_end(std::span<const iggy::Message> messages) const;

  Setup setup_;
  std::optional<iggy::PolledMessages> reply_;
  std::size_t at_ = 0;  // of the reply, what comes next

  // A place in text_, until it has come to rest.
  struct Text {
    std::size_t header;
    bool name;
    std::size_t from;
    std::size_t size;
  };
  std::vector<std::string_view> payloads_;
  std::vector<Offset> offsets_;
  std::vector<UnixMicros> timestamps_;
  std::vector<iggy::UserHeader> decoded_;
  std::vector<Header> headers_;
  std::vector<std::size_t> header_ends_;
  std::vector<std::span<const Header>> header_spans_;
  std::string text_;  // numbers of headers, written out
  std::vector<Text> texts_;
};

}  // namespace millrace::iggy_source
