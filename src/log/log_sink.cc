// SPDX-License-Identifier: Apache-2.0
#include "millrace/log/log_sink.h"

#include <fmt/format.h>
#include <spdlog/details/null_mutex.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <map>
#include <string>

#include "log/log_line.h"
#include "millrace/base/sync.h"

namespace millrace {
namespace {

/// spdlog's way to a function; ProgramLog's own lock is around it.
class FunctionSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  explicit FunctionSink(std::function<void(std::string_view)> output) : output_(std::move(output)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    output_({line.data(), line.size()});
  }
  void flush_() override {}

  const std::function<void(std::string_view)> output_;
};

/// Kinds of lines that are folded at a time; a kind beyond it is written as it comes.
constexpr std::size_t kMaxFolds = 256;

class SpdlogLog final : public ProgramLog {
 public:
  explicit SpdlogLog(ProgramLogOptions options)
      : format_(options.format),
        fold_within_(options.fold_within),
        clock_(*options.clock),
        out_("millrace", options.output ? spdlog::sink_ptr(std::make_shared<FunctionSink>(std::move(options.output)))
                                        : spdlog::sink_ptr(std::make_shared<spdlog::sinks::stderr_sink_mt>())) {
    out_.set_pattern("%v");
    out_.set_level(spdlog::level::trace);  // Logger has decided already
  }

  ~SpdlogLog() override { write_all(); }

  void write(LogLevel level, std::string_view component, std::string_view message,
             std::initializer_list<LogField> fields) override {
    LogLine line{level, std::string(component), std::string(message), {}};
    for (const LogField& field : fields) line.fields.emplace_back(field.key, field.value);
    const MutexLock lock(mutex_);
    write_folded(false);
    if (level != LogLevel::debug && fold_within_ > Duration(0) && fold(line)) return;
    emit(line, 0);
  }

  void tick() override {
    const MutexLock lock(mutex_);
    write_folded(false);
  }

  void flush() override { write_all(); }

 private:
  struct Fold {
    SteadyTime until;
    std::uint64_t count = 0;
    LogLine last;
  };

  void write_all() {
    const MutexLock lock(mutex_);
    write_folded(true);
    out_.flush();
  }

  /// True when the line is counted and not to be written.
  bool fold(LogLine& line) MILLRACE_REQUIRES(mutex_) {
    std::string kind = fmt::format("{}\n{}\n{}", static_cast<int>(line.level), line.component, line.message);
    if (line.level == LogLevel::info) {
      for (const auto& [key, value] : line.fields) kind += fmt::format("\n{}={}", key, value);
    }
    const auto found = folds_.find(kind);
    if (found == folds_.end()) {
      if (folds_.size() < kMaxFolds) folds_.emplace(std::move(kind), Fold{clock_.now() + fold_within_, 0, {}});
      return false;
    }
    ++found->second.count;
    found->second.last = std::move(line);
    return true;
  }

  void write_folded(bool all) MILLRACE_REQUIRES(mutex_) {
    if (folds_.empty()) return;
    const SteadyTime now = clock_.now();
    for (auto at = folds_.begin(); at != folds_.end();) {
      if (!all && now < at->second.until) {
        ++at;
        continue;
      }
      if (at->second.count == 1) emit(at->second.last, 0);
      if (at->second.count > 1) emit(at->second.last, at->second.count);
      at = folds_.erase(at);
    }
  }

  void emit(const LogLine& line, std::uint64_t repeated) MILLRACE_REQUIRES(mutex_) {
    const std::string text = render(line, format_, clock_.unix_micros(), repeated);
    out_.log(spdlog::level::info, spdlog::string_view_t(text.data(), text.size()));
  }

  const LogFormat format_;
  const Duration fold_within_;
  Clock& clock_;
  Mutex mutex_;
  std::map<std::string, Fold> folds_ MILLRACE_GUARDED_BY(mutex_);
  spdlog::logger out_ MILLRACE_GUARDED_BY(mutex_);
};

}  // namespace

std::shared_ptr<ProgramLog> ProgramLog::make(ProgramLogOptions options) {
  return std::make_shared<SpdlogLog>(std::move(options));
}

}  // namespace millrace
