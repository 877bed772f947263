// SPDX-License-Identifier: Apache-2.0
#include "pipeline/run_board.h"

#include <algorithm>

namespace millrace {

namespace {

/// What happened, without what a person can do about it.
std::string_view first_sentence(std::string_view message) {
  return message.substr(0, std::min(message.find(". "), message.find("; ")));
}

}  // namespace

void RunBoard::report(std::string_view component, Error error) {
  bool first = false;
  bool again = false;
  {
    const MutexLock lock(mutex_);
    first = !error_;
    again = error_ && error_->code() == error.code() && error_->message() == error.message();
    if (first) error_ = Error(error).as(ErrorClass::fatal).with("component", std::string(component));
  }
  if (!again) {
    // The first one ends the run, whose report has it whole; of the others only the log tells.
    log_.error(first ? std::string(first_sentence(error.message())) : error.describe(),
               {{"component", std::string(component)}, {"code", std::string(to_string(error.code()))}});
  }
  has_error_.store(true, memory_order_release);
  wake_control();
}

std::optional<Error> RunBoard::error() const {
  const MutexLock lock(mutex_);
  return error_;
}

void RunBoard::add(const ChainCounts& counts) {
  records_in.fetch_add(counts.records_in, memory_order_relaxed);
  records_encoded.fetch_add(counts.records_out, memory_order_relaxed);
  records_filtered.fetch_add(counts.filtered, memory_order_relaxed);
  payload_bytes.fetch_add(counts.payload_bytes, memory_order_relaxed);
  for (const auto& [reason, count] : counts.skipped) {
    skipped_.at(static_cast<std::size_t>(reason)).fetch_add(count, memory_order_relaxed);
  }
  for (const auto& [reason, count] : counts.dead_lettered) {
    dead_lettered_.at(static_cast<std::size_t>(reason)).fetch_add(count, memory_order_relaxed);
  }
}

std::map<std::string, std::uint64_t> RunBoard::by_reason(const Counts& counts) {
  std::map<std::string, std::uint64_t> found;
  for (std::size_t i = 0; i < kErrorCodes; ++i) {
    const std::uint64_t count = counts[i].load(memory_order_relaxed);
    if (count != 0) found[std::string(to_string(static_cast<ErrorCode>(i)))] = count;
  }
  return found;
}

void RunBoard::set_write_error(std::string text) {
  const MutexLock lock(mutex_);
  write_error_ = std::move(text);
}

void RunBoard::set_unwritten(std::string text) {
  const MutexLock lock(mutex_);
  unwritten_ = std::move(text);
}

std::string RunBoard::unwritten() const {
  const MutexLock lock(mutex_);
  return unwritten_;
}

std::string RunBoard::write_error() const {
  const MutexLock lock(mutex_);
  return write_error_;
}

}  // namespace millrace
