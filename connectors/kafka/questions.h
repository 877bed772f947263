// SPDX-License-Identifier: Apache-2.0
// What is asked of the brokers before a partition is read: which partitions there are, what they hold, what is stored
// for the group. Calls that wait, so on an inquiry's thread; each is asked again until it is answered, or the stop.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "connectors/kafka/client.h"
#include "connectors/kafka/inquiry.h"
#include "connectors/kafka/partitions.h"
#include "millrace/base/ids.h"
#include "millrace/base/log.h"
#include "millrace/base/result.h"
#include "millrace/base/stop_signal.h"
#include "millrace/base/time.h"
#include "millrace/connectors/kafka.h"

namespace millrace::kafka {

/// What all questions need.
struct Asking {
  std::shared_ptr<Client> client;
  const KafkaSourceOptions* options = nullptr;
  Clock* clock = &Clock::real();
  Random* random = &Random::system();
  Logger log;
  bool alone = false;  ///< nobody else serves the client, so what goes wrong is heard here or nowhere
};

/// The cluster as it was when the run began.
struct Cluster {
  std::string id;
  std::vector<Partition> partitions;    ///< of all topics
  std::map<Partition, Watermark> ends;  ///< of a bounded source: where each ends
};
/// Fails when a topic is not there, or nobody answers, by the end of connect_timeout.
[[nodiscard]] Result<Cluster> ask_cluster(const Asking& asking, StopSignal& stop);

/// What is stored for the group, in the order of `partitions`; nothing where nothing is. Fails when nobody answers by
/// `until`.
[[nodiscard]] Result<std::vector<std::optional<Watermark>>> ask_stored(const Asking& asking,
                                                                       const std::vector<Partition>& partitions,
                                                                       SteadyTime until, StopSignal& stop);

/// Where the lane of a partition begins.
struct Beginning {
  Partition partition;
  Watermark at;
  /// What the group's position is marked with: made when it had none, and lost when the topic is deleted. Tells records
  /// of a topic from those of another that had its name before.
  std::string mark;
};
/// Positions to begin at, stored under marks. Retries what may pass without end.
[[nodiscard]] Result<std::vector<Beginning>> ask_beginnings(const Asking& asking,
                                                            const std::vector<Partition>& partitions, StopSignal& stop);

/// Those of `partitions` of which the group's position lies before these ends. One question, without retries.
[[nodiscard]] Result<std::vector<Partition>> ask_unread(const Asking& asking, const std::vector<Partition>& partitions,
                                                        const std::map<Partition, Watermark>& ends);

}  // namespace millrace::kafka
