// SPDX-License-Identifier: Apache-2.0
// Desk: the thread that has the control connection, and what it is asked for: which partitions are ours, where they
// begin, storing what is settled, heartbeats. The control thread never waits for the server (INV-3): it leaves a
// question here, and is woken for the answer.
#pragma once

#include <cstdint>
#include <functional>
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
  std::vector<Partition> lost;        ///< of which they know that messages were lost
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
  /// Of the assignment that holds now; what they know to be lost is settled with them.
  [[nodiscard]] std::optional<Beginnings> take_beginnings();
  /// Of a bounded source whose own partitions are read, those of the assignment of that number: whether the other
  /// members' are, and that assignment is the latest. Asks, and wakes for the answer.
  [[nodiscard]] bool others_are_read(std::uint64_t assignment);
  /// Messages of a partition were lost, and its lane has not begun anew since.
  [[nodiscard]] std::optional<std::string> loss() const;
  /// What ends the run.
  [[nodiscard]] std::optional<Error> failure() const;
  /// Something was settled.
  void store();
  /// Whose lanes are live now; none while they change.
  void feeds(std::vector<std::shared_ptr<LaneFeed>> feeds);
  /// Leaves the groups and says goodbye, by `deadline`; then nothing is asked any more.
  void close(SteadyTime deadline);

  // Any thread:
  /// What a feed has read is not what the server has there (any more): its lane has to begin anew. Of a feed whose lane
  /// is gone, nothing: beginnings look for themselves.
  void lost(const LaneFeed& feed, std::string what);
  /// Messages that a feed wants were removed before they were fetched: its lane begins anew, where, is decided then.
  void removed(const LaneFeed& feed);

 private:
  struct Work {
    bool closing = false;
    bool others = false;  ///< are they read?
    std::optional<Assignment> question;
    std::vector<std::shared_ptr<LaneFeed>> feeds;
  };
  void run();
  [[nodiscard]] Work next_work(SteadyTime until);
  [[nodiscard]] Result<void> turn(const Work& work);
  [[nodiscard]] bool goes_on(Error error);
  [[nodiscard]] SteadyTime rest();
  [[nodiscard]] Result<void> settle_doubts();
  [[nodiscard]] Result<void> look(const Work& work);
  void gone(const std::vector<std::uint32_t>& topics);
  void waits_for(const Topics::Unread& unread);
  [[nodiscard]] Result<void> made_anew(const std::vector<std::uint32_t>& topics);
  [[nodiscard]] Error refused_anew(const std::vector<std::uint32_t>& topics);
  void hold(const Work& work, const Ours& ours);
  void told(const Ours& ours);
  [[nodiscard]] Result<void> check(LaneFeed& feed, Watermark fetched);
  void publish(std::vector<Partition> ours, bool anew, bool others_read);
  [[nodiscard]] Result<void> answer(const Work& work);
  [[nodiscard]] Result<void> store_settled();
  [[nodiscard]] Result<void> store(PartitionWatermark position);
  [[nodiscard]] Result<void> refused_as_beyond(PartitionWatermark position, std::uint64_t offset);
  void lose(Partition partition, std::string what);
  void fail(Error error);
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
  std::uint64_t doubted_ = 0;  ///< the session up to which everything that was stored was doubted
  bool anew_ = false;          ///< a topic was made anew, and its lanes do not begin anew yet
  bool failed_ = false;        ///< the run ends: only what is settled is stored still
  SteadyTime next_look_ = SteadyTime::min();
  SteadyTime give_up_ = SteadyTime::max();  ///< while nothing has been looked at yet
  std::string complained_;
  bool said_empty_ = false;
  std::optional<Error> gone_;           ///< a topic is not there, as of the latest look
  std::optional<Partition> waits_for_;  ///< as was said
  int damaged_ = 0;                     ///< turns in a row that met bytes that were not sound

  mutable Mutex mutex_;
  CondVar changed_;
  Assignment assignment_ MILLRACE_GUARDED_BY(mutex_);
  std::optional<Assignment> question_ MILLRACE_GUARDED_BY(mutex_);
  std::optional<Beginnings> answer_ MILLRACE_GUARDED_BY(mutex_);
  std::optional<Error> failure_ MILLRACE_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<LaneFeed>> feeds_ MILLRACE_GUARDED_BY(mutex_);
  std::map<Partition, Loss> lost_ MILLRACE_GUARDED_BY(mutex_);
  bool to_store_ MILLRACE_GUARDED_BY(mutex_) = false;
  bool look_now_ MILLRACE_GUARDED_BY(mutex_) = false;
  bool ask_others_ MILLRACE_GUARDED_BY(mutex_) = false;
  bool others_read_ MILLRACE_GUARDED_BY(mutex_) = false;
  bool closing_ MILLRACE_GUARDED_BY(mutex_) = false;
  bool ended_ MILLRACE_GUARDED_BY(mutex_) = false;
  Thread thread_;  // last: it uses what stands above
};

}  // namespace millrace::iggy_source
