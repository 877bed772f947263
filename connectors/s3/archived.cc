// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/archived.h"

#include <fmt/format.h>

#include <vector>

#include "millrace/base/printable.h"

namespace millrace::s3_source {
namespace {

/// One-byte reads under way, and how they ended.
class Probes {
 public:
  struct Probe {
    std::size_t object;
    char byte = 0;
    std::optional<Error> error;
  };
  /// Reads the first byte of each of `objects`, all at once, and waits for all.
  static std::vector<Probe> run(ObjectStore& store, const Listing& listing, const std::vector<std::size_t>& objects) {
    Probes self;
    std::vector<Probe> probes;
    probes.reserve(objects.size());
    for (const std::size_t object : objects) probes.push_back({object});
    for (Probe& probe : probes) {
      const ListedObject listed = listing[probe.object];
      ReadRequest request;
      request.key = listed.key;
      request.destination = {&probe.byte, 1};
      request.done = [&self, &probe](ReadOutcome outcome) {
        const MutexLock lock(self.mutex_);
        if (!outcome.info) probe.error = std::move(outcome.info).error();
        ++self.ended_;
        self.changed_.notify_all();
      };
      (void)store.start_read(std::move(request));
    }
    const MutexLock lock(self.mutex_);
    while (self.ended_ < probes.size()) self.changed_.wait(self.mutex_);
    return probes;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::size_t ended_ MILLRACE_GUARDED_BY(mutex_) = 0;
};

Error not_readable(const Listing& listing, const std::string& url, std::size_t object, const Error& error) {
  if (error.code() != ErrorCode::not_supported) {
    return Error(error)
        .prefixed(
            fmt::format("object '{}{}' of an archive class cannot be read: ", url, printable(listing[object].key)))
        .as(ErrorClass::fatal);
  }
  return Error::fatal(
      ErrorCode::not_supported,
      fmt::format("object '{}{}' is archived and has not been restored ({}); {} of {} objects are in an "
                  "archive class. Restore them, exclude them, or set on_archived: skip",
                  url, printable(listing[object].key), error.message(), listing.counts().archived, listing.size()));
}

}  // namespace

Result<void> check_archived(ObjectStore& store, const Listing& listing, const std::string& url,
                            const RetryPolicy& retry, std::size_t requests_in_flight, Clock& clock, Random& random,
                            StopSignal& stop) {
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < listing.size(); ++i) {
    if (listing[i].kind == ObjectKind::archived) open.push_back(i);
  }
  Tries tries(retry, random);
  while (!open.empty()) {
    const std::size_t count = std::min(requests_in_flight, open.size());
    const std::vector<std::size_t> now(open.end() - static_cast<std::ptrdiff_t>(count), open.end());
    open.resize(open.size() - count);
    std::optional<Error> passing;
    for (const auto& probe : Probes::run(store, listing, now)) {
      if (!probe.error) continue;
      if (!probe.error->is_retryable()) return fail(not_readable(listing, url, probe.object, *probe.error));
      passing = probe.error;
      open.push_back(probe.object);
    }
    if (!passing) {
      tries.progress();
      continue;
    }
    const auto wait = tries.next(*passing, clock.now());
    if (!wait) return fail(std::move(*passing).prefixed("asking for archived objects: ").as(ErrorClass::fatal));
    if (stop.wait(clock, *wait)) break;
  }
  if (stop.requested()) return fail(Error::fatal(ErrorCode::cancelled, "stopped while asking for archived objects"));
  return {};
}

}  // namespace millrace::s3_source
