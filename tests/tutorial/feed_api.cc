// SPDX-License-Identifier: Apache-2.0
#include "feed_api.h"

#include <httplib.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <utility>

#include "millrace/base/stop_signal.h"
#include "millrace/base/sync.h"
#include "millrace/base/time.h"

namespace millrace::tutorial {

struct FeedApi::State {
  mutable Mutex mutex;
  mutable CondVar changed;
  std::map<std::string, int> feeds MILLRACE_GUARDED_BY(mutex);
  std::deque<Fault> faults MILLRACE_GUARDED_BY(mutex);
  Fault always MILLRACE_GUARDED_BY(mutex);
  std::vector<std::string> asked MILLRACE_GUARDED_BY(mutex);
  std::vector<std::string> tokens MILLRACE_GUARDED_BY(mutex);
  StopSignal leaving;
  httplib::Server server;
  int port = 0;
  Thread thread;  // uses all of the above

  void answer(const httplib::Request& request, httplib::Response& response) {
    if (request.path == "/ready") return;
    Fault fault;
    int items = -1;
    {
      const MutexLock lock(mutex);
      asked.push_back(request.target);
      tokens.push_back(request.get_header_value("Authorization"));
      changed.notify_all();
      fault = always;
      if (!faults.empty()) {
        fault = std::move(faults.front());
        faults.pop_front();
      }
      if (const auto feed = feeds.find(request.path); feed != feeds.end()) items = feed->second;
    }
    response.status = items < 0 ? 404 : 200;
    if (items >= 0) {
      page(std::stoll(request.get_param_value("from")), std::stoi(request.get_param_value("limit")), items, response);
    }
    if (fault) fault(response);
  }

  static void page(std::int64_t from, int limit, int items, httplib::Response& response) {
    std::string text;
    std::int64_t next = from;
    std::int64_t at = from + from % 2;
    for (int given = 0; given < limit && at < 2 * std::int64_t{items}; ++given, at += 2) {
      text += (text.empty() ? "" : ",\n ") + (R"({"offset": )" + std::to_string(at)) + R"(, "record": )" +
              feed_record(at) + "}";
      next = at + 1;
    }
    response.set_content(R"({"feed": "a field of later, )" + std::string("\\u00e9\", \"items\": [") + text +
                             R"(], "next": )" + std::to_string(next) + R"(, "more": )" +
                             (at < 2 * std::int64_t{items} ? "true}" : "false}"),
                         "application/json");
  }
};

FeedApi::FeedApi(std::map<std::string, int> feeds) : state_(std::make_unique<State>()) {
  {
    const MutexLock lock(state_->mutex);
    state_->feeds = std::move(feeds);
  }
  httplib::Server& server = state_->server;
  server.Get(".*", [this](const auto& request, auto& response) { state_->answer(request, response); });
  server.new_task_queue = [] { return new httplib::ThreadPool(8); };
  state_->port = server.bind_to_any_port("127.0.0.1");
  state_->thread = Thread("feed-api", [&server] { server.listen_after_bind(); });
  // A server can be stopped once it runs, and it runs when it answers.
  static_cast<void>(httplib::Client("127.0.0.1", state_->port).Get("/ready"));
}

FeedApi::~FeedApi() {
  state_->leaving.request();
  state_->server.stop();
}

FeedApi::Fault FeedApi::silence() {
  return [this](httplib::Response& response) {
    response.set_content_provider(std::size_t{1}, "application/json",
                                  [this](std::size_t, std::size_t, httplib::DataSink&) {
                                    return !state_->leaving.wait(Clock::real(), std::chrono::hours(1));
                                  });
  };
}

std::string FeedApi::url() const { return "http://127.0.0.1:" + std::to_string(state_->port); }

void FeedApi::add(const std::string& feed) {
  const MutexLock lock(state_->mutex);
  ++state_->feeds.at(feed);
}

void FeedApi::next_answers(std::vector<Fault> faults) {
  const MutexLock lock(state_->mutex);
  for (Fault& fault : faults) state_->faults.push_back(std::move(fault));
}

void FeedApi::all_answers(Fault fault) {
  const MutexLock lock(state_->mutex);
  state_->always = std::move(fault);
}

std::vector<std::string> FeedApi::asked() const {
  const MutexLock lock(state_->mutex);
  return state_->asked;
}

std::vector<std::string> FeedApi::tokens() const {
  const MutexLock lock(state_->mutex);
  return state_->tokens;
}

bool FeedApi::wait_for_requests(std::size_t count) const {
  const SteadyTime deadline = Clock::real().now() + std::chrono::minutes(1);
  const MutexLock lock(state_->mutex);
  while (state_->asked.size() < count && Clock::real().now() < deadline) {
    Clock::real().wait_until(state_->changed, state_->mutex, deadline);
  }
  return state_->asked.size() >= count;
}

std::string feed_record(std::int64_t offset) { return R"({"n":)" + std::to_string(offset) + R"(,"of":"caf\u00e9"})"; }

FeedApi::Fault status(int code, std::string retry_after) {
  return [code, retry_after = std::move(retry_after)](httplib::Response& response) {
    response.status = code;
    response.set_content("sorry", "text/plain");
    if (!retry_after.empty()) response.set_header("Retry-After", retry_after);
  };
}

FeedApi::Fault body(std::string text) {
  return [text = std::move(text)](httplib::Response& response) { response.set_content(text, "application/json"); };
}

FeedApi::Fault breaks_off() {
  return [](httplib::Response& response) {
    const std::string whole = std::exchange(response.body, "");
    response.set_content_provider(whole.size(), "application/json",
                                  [whole](std::size_t offset, std::size_t, httplib::DataSink& sink) {
                                    if (offset != 0) return false;
                                    return sink.write(whole.data(), whole.size() / 2);
                                  });
  };
}

}  // namespace millrace::tutorial
