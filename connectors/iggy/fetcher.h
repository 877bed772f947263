// SPDX-License-Identifier: Apache-2.0
// Fetcher: a thread with a connection of its own, which keeps the feeds of some partitions full. Reads explicit
// positions, so it is no member of any group and stores nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "connectors/iggy/lane_feed.h"
#include "connectors/iggy/metrics.h"
#include "connectors/iggy/options.h"
#include "millrace/base/log.h"
#include "millrace/base/sync.h"

namespace millrace::iggy_source {

class Fetcher {
 public:
  /// Who is told, from the fetcher's thread, that a feed cannot go on.
  struct Hears {
    /// What was fetched is not what the server has there.
    std::function<void(const LaneFeed&, std::string)> lost;
    /// What it wants was removed before it was fetched.
    std::function<void(const LaneFeed&)> removed;
  };
  Fetcher(const IggySourceOptions& options, std::unique_ptr<iggy::Client> client, const SourceContext& context,
          Metrics metrics, Hears hears);
  ~Fetcher();
  void start();

  /// Whom it serves from now on.
  void serve(std::vector<std::shared_ptr<LaneFeed>> feeds);

 private:
  struct Place {
    std::shared_ptr<LaneFeed> feed;
    SteadyTime due = SteadyTime::min();
    Duration idle{0};           ///< between two polls that give nothing
    int damaged = 0;            ///< polls in a row whose bytes were not sound
    std::uint64_t session = 0;  ///< in which it was compared with what the server has
    bool over = false;          ///< it cannot go on
    std::string complained{};   ///< what was said of it last
  };
  void run();
  void take_feeds();
  [[nodiscard]] Place* next(SteadyTime now, SteadyTime& wake_at);
  [[nodiscard]] Result<void> fetch(Place& place, std::int64_t from);
  [[nodiscard]] Result<void> compare(Place& place);
  [[nodiscard]] Result<void> skipped(Place& place, std::int64_t from, std::uint64_t next);
  void idle(Place& place);
  bool failed(Place* place, Error error);

  const IggySourceOptions* const options_;
  const std::unique_ptr<iggy::Client> client_;
  Clock* const clock_;
  const Logger log_;
  Metrics metrics_;
  const Hears hears_;
  const std::shared_ptr<EventCount> event_ = std::make_shared<EventCount>();

  // Its own thread:
  std::vector<Place> places_;
  std::size_t turn_ = 0;
  std::uint64_t session_ = 0;
  std::string complained_;

  Mutex mutex_;
  std::optional<std::vector<std::shared_ptr<LaneFeed>>> given_ MILLRACE_GUARDED_BY(mutex_);
  Atomic<bool> closing_{false};
  Thread thread_;  // last: it uses what stands above
};

}  // namespace millrace::iggy_source
