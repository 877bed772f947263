// SPDX-License-Identifier: Apache-2.0
#include "store/s3/http_loop.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "millrace/base/check.h"
#include "millrace/base/sync.h"
#include "store/s3/curl_transfer.h"

namespace millrace::s3 {

// libcurl's "socket" interface over epoll: its own poll loop looks at every transfer at each wake-up, which costs with
// 64 of them.
class HttpLoop::Impl {
 public:
  Impl(HttpLoopOptions options, int epoll, int wake);
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void run();
  void post(std::move_only_function<void()> work);
  void cancel_all();
  void stop();
  ExchangeId send(HttpRequest request, HttpReceiver& receiver, Done done);
  void cancel(ExchangeId id);
  void call_at(SteadyTime when, std::move_only_function<void()> work) { timers_.emplace(when, std::move(work)); }
  [[nodiscard]] bool on_loop_thread() const { return ::gettid() == thread_id_.load(memory_order_relaxed); }

 private:
  static int on_socket(CURL* easy, curl_socket_t socket, int what, void* self, void* known);
  static int on_timer(CURLM* multi, long timeout_ms, void* self);
  [[nodiscard]] int wait_milliseconds() const;
  void wait_and_transfer();
  void finish_transfers();
  void finish(CurlTransfer* transfer, int result, bool cancelled);
  void run_posted();
  void run_timers();
  void end_everything();
  void wake() const;

  const HttpLoopOptions options_;
  CURLM* const multi_;
  const int epoll_;
  const int wake_;
  Atomic<pid_t> thread_id_{0};

  // The loop thread's own.
  std::unordered_map<ExchangeId, std::unique_ptr<CurlTransfer>> active_;
  std::vector<std::unique_ptr<CurlTransfer>> idle_;  // handles keep their setup; the last used is taken first
  std::vector<std::move_only_function<void()>> soon_;
  std::multimap<SteadyTime, std::move_only_function<void()>> timers_;
  std::optional<SteadyTime> curl_deadline_;
  ExchangeId last_id_ = 0;

  mutable Mutex mutex_;
  std::vector<std::move_only_function<void()>> posted_ MILLRACE_GUARDED_BY(mutex_);
  Atomic<bool> cancelled_{false};
  Atomic<bool> stopping_{false};
};

namespace {

// A broken TLS connection raises SIGPIPE, and signals of the program are for its main thread.
void leave_signals_to_others() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGPIPE, SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, number);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);  // of the calling thread, on Linux
}

}  // namespace

HttpLoop::Impl::Impl(HttpLoopOptions options, int epoll, int wake)
    : options_(std::move(options)), multi_(curl_multi_init()), epoll_(epoll), wake_(wake) {
  MILLRACE_CHECK(multi_ != nullptr, "libcurl gave no multi handle: out of memory");
  curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &Impl::on_socket);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &Impl::on_timer);
  curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_PIPELINING, CURLPIPE_NOTHING);
  curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, 256L);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = wake_;
  ::epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_, &event);
}

HttpLoop::Impl::~Impl() {
  idle_.clear();
  curl_multi_cleanup(multi_);
  ::close(epoll_);
  ::close(wake_);
}

void HttpLoop::Impl::wake() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_, &one, sizeof one);
}

void HttpLoop::Impl::post(std::move_only_function<void()> work) {
  bool first = false;
  {
    const MutexLock lock(mutex_);
    first = posted_.empty();
    posted_.push_back(std::move(work));
  }
  if (first) wake();
}

void HttpLoop::Impl::cancel_all() {
  cancelled_.store(true);
  wake();
}

void HttpLoop::Impl::stop() {
  cancelled_.store(true);
  stopping_.store(true);
  wake();
}

void HttpLoop::Impl::run() {
  thread_id_.store(::gettid(), memory_order_relaxed);
  leave_signals_to_others();
  while (!stopping_.load()) {
    wait_and_transfer();
    finish_transfers();
    run_posted();
    run_timers();
    if (cancelled_.load()) end_everything();
  }
  // What is posted late sees the end as well, so that nobody waits for ever.
  run_posted();
  end_everything();
}

int HttpLoop::Impl::on_socket(CURL* /*easy*/, curl_socket_t socket, int what, void* self, void* known) {
  auto* loop = static_cast<Impl*>(self);
  if (what == CURL_POLL_REMOVE) {
    ::epoll_ctl(loop->epoll_, EPOLL_CTL_DEL, socket, nullptr);
    curl_multi_assign(loop->multi_, socket, nullptr);
    return 0;
  }
  epoll_event event{};
  event.data.fd = socket;
  if (what != CURL_POLL_OUT) event.events |= EPOLLIN;
  if (what != CURL_POLL_IN) event.events |= EPOLLOUT;
  const int operation = known == nullptr ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
  if (::epoll_ctl(loop->epoll_, operation, socket, &event) != 0 && errno == EEXIST) {
    ::epoll_ctl(loop->epoll_, EPOLL_CTL_MOD, socket, &event);
  }
  curl_multi_assign(loop->multi_, socket, loop);
  return 0;
}

int HttpLoop::Impl::on_timer(CURLM* /*multi*/, long timeout_ms, void* self) {
  auto* loop = static_cast<Impl*>(self);
  loop->curl_deadline_.reset();
  if (timeout_ms >= 0) loop->curl_deadline_ = Clock::real().now() + std::chrono::milliseconds(timeout_ms);
  return 0;
}

int HttpLoop::Impl::wait_milliseconds() const {
  std::optional<SteadyTime> until = curl_deadline_;
  if (!timers_.empty() && (!until || timers_.begin()->first < *until)) until = timers_.begin()->first;
  if (!soon_.empty()) return 0;
  if (!until) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*until - Clock::real().now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

void HttpLoop::Impl::wait_and_transfer() {
  std::array<epoll_event, 64> events{};
  const int count = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), wait_milliseconds());
  int running = 0;
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    if (event.data.fd == wake_) {
      std::uint64_t signals = 0;
      [[maybe_unused]] const auto got = ::read(wake_, &signals, sizeof signals);
      continue;
    }
    int mask = 0;
    // An error is found by reading, after what still lies in the socket.
    if ((event.events & (EPOLLIN | EPOLLERR | EPOLLHUP)) != 0) mask |= CURL_CSELECT_IN;
    if ((event.events & EPOLLOUT) != 0) mask |= CURL_CSELECT_OUT;
    curl_multi_socket_action(multi_, event.data.fd, mask, &running);
  }
  if (curl_deadline_ && Clock::real().now() >= *curl_deadline_) {
    curl_deadline_.reset();
    curl_multi_socket_action(multi_, CURL_SOCKET_TIMEOUT, 0, &running);
  }
}

void HttpLoop::Impl::finish_transfers() {
  int left = 0;
  while (CURLMsg* message = curl_multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode result = message->data.result;
    void* transfer = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
    finish(static_cast<CurlTransfer*>(transfer), result, false);
  }
}

void HttpLoop::Impl::finish(CurlTransfer* transfer, int result, bool cancelled) {
  curl_multi_remove_handle(multi_, transfer->easy());
  HttpOutcome outcome = transfer->outcome(result);
  if (cancelled) {
    outcome.failure = TransportFailure::cancelled;
    outcome.detail = "cancelled";
  }
  Done done = transfer->take_done();
  const auto entry = active_.extract(transfer->id());
  if (idle_.size() < 128) idle_.push_back(std::move(entry.mapped()));
  done(std::move(outcome));
}

HttpLoop::ExchangeId HttpLoop::Impl::send(HttpRequest request, HttpReceiver& receiver, Done done) {
  const ExchangeId id = ++last_id_;
  if (cancelled_.load()) {
    soon_.emplace_back([done = std::move(done)]() mutable {
      HttpOutcome outcome;
      outcome.failure = TransportFailure::cancelled;
      outcome.detail = "cancelled";
      done(std::move(outcome));
    });
    return id;
  }
  std::unique_ptr<CurlTransfer> transfer;
  if (idle_.empty()) {
    transfer = std::make_unique<CurlTransfer>(options_);
  } else {
    transfer = std::move(idle_.back());
    idle_.pop_back();
  }
  transfer->begin(id, std::move(request), receiver, std::move(done));
  CURL* easy = transfer->easy();
  active_.emplace(id, std::move(transfer));
  const CURLMcode added = curl_multi_add_handle(multi_, easy);
  MILLRACE_CHECK(added == CURLM_OK, "libcurl refused a request: a handle is used twice");
  return id;
}

void HttpLoop::Impl::cancel(ExchangeId id) {
  const auto found = active_.find(id);
  if (found != active_.end()) finish(found->second.get(), CURLE_ABORTED_BY_CALLBACK, true);
}

void HttpLoop::Impl::run_posted() {
  std::vector<std::move_only_function<void()>> work;
  {
    const MutexLock lock(mutex_);
    work.swap(posted_);
  }
  for (auto& one : work) one();
  work = std::exchange(soon_, {});
  for (auto& one : work) one();
}

void HttpLoop::Impl::run_timers() {
  while (!timers_.empty() && timers_.begin()->first <= Clock::real().now()) {
    auto due = timers_.extract(timers_.begin());
    due.mapped()();
  }
}

void HttpLoop::Impl::end_everything() {
  while (!active_.empty()) finish(active_.begin()->second.get(), CURLE_ABORTED_BY_CALLBACK, true);
  while (!soon_.empty()) {
    auto work = std::exchange(soon_, {});
    for (auto& one : work) one();
  }
}

Result<std::unique_ptr<HttpLoop>> HttpLoop::start(const HttpLoopOptions& options) {
  prepare_curl();
  const int epoll = ::epoll_create1(EPOLL_CLOEXEC);
  const int wake = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (epoll < 0 || wake < 0) {
    const int error = errno;
    if (epoll >= 0) ::close(epoll);
    if (wake >= 0) ::close(wake);
    return fail(Error::fatal(ErrorCode::io, fmt::format("the network loop could not start: {}", std::strerror(error))));
  }
  return std::unique_ptr<HttpLoop>(new HttpLoop(std::make_shared<Impl>(options, epoll, wake)));
}

HttpLoop::HttpLoop(std::shared_ptr<Impl> impl)
    : impl_(std::move(impl)), thread_("s3-io", [shared = impl_] { shared->run(); }) {}

HttpLoop::~HttpLoop() {
  MILLRACE_CHECK(!impl_->on_loop_thread(), "a loop cannot be destroyed on its own thread: who would join it");
  impl_->stop();
}

void HttpLoop::post(std::move_only_function<void()> work) { impl_->post(std::move(work)); }
std::function<void(std::move_only_function<void()>)> HttpLoop::poster() const {
  return [shared = impl_](std::move_only_function<void()> work) { shared->post(std::move(work)); };
}
void HttpLoop::cancel_all() { impl_->cancel_all(); }
HttpLoop::ExchangeId HttpLoop::send(HttpRequest request, HttpReceiver& receiver, Done done) {
  return impl_->send(std::move(request), receiver, std::move(done));
}
void HttpLoop::cancel(ExchangeId id) { impl_->cancel(id); }
void HttpLoop::call_at(SteadyTime when, std::move_only_function<void()> work) { impl_->call_at(when, std::move(work)); }
bool HttpLoop::on_loop_thread() const { return impl_->on_loop_thread(); }

}  // namespace millrace::s3
