// SPDX-License-Identifier: Apache-2.0
// Desk: the thread that has the control connection, and what it is asked for: which partitions are ours, where they
// begin, storing what is settled, heartbeats. The control thread never waits for the server (INV-3): it leaves a
// question here, and is woken for the answer.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "connectors/iggy/lane_feed.h"
#include "connectors/iggy/membership.h"
#include "connectors/iggy/metrics.h"
#include "connectors/iggy/positions.h"
#include "connectors/iggy/topics.h"
#include "millrace/base/log.h"
#include "millrace/base/sync.h"

namespace millrace::iggy_source {

/// Which partitions are ours. Another number than before: they changed, or have to begin anew.
struct Assignment {
  std::uint64_t number = 0;  ///< 0: not known yet
  std::vector<Partition> partitions;
};
/// How the lanes of an assignment begin.
struct Beginnings {
  std::uint64_t assignment = 0;
  std::vector<Beginning> lanes;
  std::vector<std::string> lineages;  ///< of the topics
};

class Desk {
 public:
  Desk(const IggySourceOptions& options, std::unique_ptr<iggy::Client> client, const SourceContext& context,
       Metrics metrics, Positions& positions, std::function<void()> wake);
  ~Desk();
  void start();

  // The control thread:
  [[nodiscard]] Assignment assignment() const;
  void ask_beginnings(Assignment assignment);
  [[nodiscard]] std::optional<Beginnings> take_beginnings();
  /// What ends the run.
  [[nodiscard]] std::optional<Error> failure() const;
  /// Something was settled.
  void store();
  /// Whose lanes are live now; none while they change.
  void feeds(std::vector<std::shared_ptr<LaneFeed>> feeds);
  /// Leaves the groups and says goodbye, by `deadline`; then nothing is asked any more.
  void close(SteadyTime deadline);

  // Any thread:
  /// What was read of a partition is not what the server has there (any more).
  void lost(Partition partition, std::string what);
  void fail(Error error);

 private:
  struct Work {
    bool closing = false;
    std::optional<Assignment> question;
    std::vector<std::shared_ptr<LaneFeed>> feeds;
    std::map<Partition, std::string> lost;
  };
  void run();
  [[nodiscard]] Work next_work(SteadyTime until);
  [[nodiscard]] Result<void> turn(const Work& work);
  [[nodiscard]] Result<void> look(const Work& work);
  [[nodiscard]] Result<void> made_anew();
  void publish(std::vector<Partition> ours, bool anew);
  [[nodiscard]] Result<void> answer(const Work& work);
  [[nodiscard]] Result<void> store_settled();
  void complain(const Error& error);
  void end();

  const IggySourceOptions* const options_;
  const std::unique_ptr<iggy::Client> client_;
  Clock* const clock_;
  const Logger log_;
  Metrics metrics_;
  Positions* const positions_;
  const std::function<void()> wake_;

  // The desk's own thread:
  Topics topics_;
  Membership membership_;
  std::uint64_t session_ = 0;  ///< of the latest look
  SteadyTime next_look_ = SteadyTime::min();
  SteadyTime give_up_ = SteadyTime::max();  ///< while nothing has been looked at yet
  std::string complained_;
  bool said_empty_ = false;
  int damaged_ = 0;  ///< turns in a row that met bytes that were not sound

  mutable Mutex mutex_;
  CondVar changed_;
  Assignment assignment_ MILLRACE_GUARDED_BY(mutex_);
  std::optional<Assignment> question_ MILLRACE_GUARDED_BY(mutex_);
  std::optional<Beginnings> answer_ MILLRACE_GUARDED_BY(mutex_);
  std::optional<Error> failure_ MILLRACE_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<LaneFeed>> feeds_ MILLRACE_GUARDED_BY(mutex_);
  std::map<Partition, std::string> lost_ MILLRACE_GUARDED_BY(mutex_);
  bool to_store_ MILLRACE_GUARDED_BY(mutex_) = false;
  bool look_now_ MILLRACE_GUARDED_BY(mutex_) = false;
  bool closing_ MILLRACE_GUARDED_BY(mutex_) = false;
  bool ended_ MILLRACE_GUARDED_BY(mutex_) = false;
  Thread thread_;  // last: it uses what stands above
};

}  // namespace millrace::iggy_source
