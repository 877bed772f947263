// SPDX-License-Identifier: Apache-2.0
#include "cli/progress_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "millrace/base/figures.h"

namespace millrace::cli {
namespace {

constexpr Duration kWindow = std::chrono::seconds(5);

/// Records that came in and of which nothing is told yet.
std::uint64_t records_left(const PipelineSnapshot& snapshot) {
  const std::uint64_t settled =
      snapshot.records_out + snapshot.records_filtered + snapshot.records_skipped + snapshot.records_dead_lettered;
  return snapshot.records_in - std::min(settled, snapshot.records_in);
}

/// Nothing is read any more, and the sink still has to take something: what is written is what counts.
bool is_writing(const PipelineSnapshot& snapshot) {
  const bool all_read = snapshot.source.bytes_total > 0 && snapshot.source.bytes_done >= snapshot.source.bytes_total;
  return records_left(snapshot) > 0 && (all_read || snapshot.phase == PipelineSnapshot::Phase::draining);
}

std::string done_text(const PipelineSnapshot& snapshot) {
  const SourceProgress& source = snapshot.source;
  std::string text;
  if (source.objects_total > 0) {
    text += fmt::format("{} of {}", count_text(source.objects_done), of_these(source.objects_total, "object"));
  }
  if (source.objects_skipped > 0) text += fmt::format(" ({} left out)", count_text(source.objects_skipped));
  if (source.objects_quarantined > 0) text += fmt::format(" ({} set aside)", count_text(source.objects_quarantined));
  if (is_writing(snapshot)) {
    return text +
           fmt::format("{}{} left to write", text.empty() ? "" : ", ", of_these(records_left(snapshot), "record"));
  }
  if (source.bytes_total > 0) {
    const double share = static_cast<double>(source.bytes_done) / static_cast<double>(source.bytes_total);
    text += fmt::format("{}{} of {} ({:.0f} %)", text.empty() ? "" : ", ", bytes_text(source.bytes_done),
                        bytes_text(source.bytes_total), std::min(share, 1.0) * 100);
  }
  return text;
}

std::string rate_text(const ProgressRates& rates) {
  return fmt::format("{}/s, {} records/s", bytes_text(rates.bytes_per_second()),
                     count_text(static_cast<std::uint64_t>(rates.records_per_second())));
}

std::string records_text(const PipelineSnapshot& snapshot) {
  std::string text =
      fmt::format("{} records in, {} out", count_text(snapshot.records_in), count_text(snapshot.records_out));
  if (snapshot.records_filtered > 0) text += fmt::format(", {} filtered", count_text(snapshot.records_filtered));
  if (snapshot.records_skipped > 0) text += fmt::format(", {} skipped", count_text(snapshot.records_skipped));
  if (snapshot.records_dead_lettered > 0) {
    text += fmt::format(", {} dead-lettered", count_text(snapshot.records_dead_lettered));
  }
  return text;
}

std::string painted(std::string_view text, std::string_view code, bool colours) {
  return colours ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

}  // namespace

void ProgressRates::add(const PipelineSnapshot& snapshot, SteadyTime now) {
  samples_.push_back({now, snapshot.payload_bytes, snapshot.records_in, snapshot.source.bytes_done,
                      snapshot.bytes_written, snapshot.records_out});
  while (samples_.size() > 2 && now - samples_.front().at > kWindow) samples_.pop_front();
  const Sample& first = samples_.front();
  const Sample& last = samples_.back();
  const double seconds = std::chrono::duration<double>(last.at - first.at).count();
  const auto rate = [&](std::uint64_t from, std::uint64_t to) {
    return seconds > 0 && to >= from ? static_cast<double>(to - from) / seconds : 0.0;
  };
  left_.reset();
  const auto set_left = [&](std::uint64_t rest, double per_second) {
    constexpr double kFarAway = 1e8;  // some years: not worth a figure
    if (per_second <= 0 || static_cast<double>(rest) / per_second >= kFarAway) return;
    left_ = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(static_cast<double>(rest) / per_second));
  };
  if (is_writing(snapshot)) {
    bytes_ = rate(first.bytes_written, last.bytes_written);
    records_ = rate(first.records_out, last.records_out);
    set_left(records_left(snapshot), records_);
    return;
  }
  bytes_ = rate(first.payload_bytes, last.payload_bytes);
  records_ = rate(first.records, last.records);
  if (snapshot.source.bytes_total >= last.source_bytes) {
    set_left(snapshot.source.bytes_total - last.source_bytes, rate(first.source_bytes, last.source_bytes));
  }
}

std::string phase_of(const PipelineSnapshot& snapshot) {
  using Phase = PipelineSnapshot::Phase;
  if (snapshot.phase == Phase::draining) return "draining";
  if (snapshot.phase == Phase::ended) return "ended";
  if (is_writing(snapshot)) return "writing";
  if (!snapshot.source.phase.empty()) return snapshot.source.phase;
  return snapshot.phase == Phase::starting ? "starting" : "running";
}

std::string wait_of(const PipelineSnapshot& snapshot) {
  if (!snapshot.last_write_error.empty()) return fmt::format("waiting for the sink: {}", snapshot.last_write_error);
  if (!snapshot.waiting_for.empty()) return fmt::format("waiting for the {}", snapshot.waiting_for);
  return {};
}

std::vector<std::string> progress_block(const PipelineSnapshot& snapshot, const ProgressRates& rates, Duration elapsed,
                                        bool lanes, bool colours) {
  const std::string done = done_text(snapshot);
  std::string first = painted(fmt::format("{:<9}", phase_of(snapshot)), "1", colours);
  if (!done.empty()) first += " " + done + ",";
  first += fmt::format(" {}", time_text(elapsed));
  if (rates.time_left()) first += fmt::format(", ETA {}", time_text(*rates.time_left()));
  std::vector<std::string> lines{std::move(first)};
  lines.push_back(fmt::format("{:<9} {}, {}", "", rate_text(rates), records_text(snapshot)));
  if (const std::string wait = wait_of(snapshot); !wait.empty()) {
    lines.push_back(fmt::format("{:<9} {}", "", painted(wait, "33", colours)));
  }
  if (!lanes) return lines;
  for (const SourceProgress::Lane& lane : snapshot.source.lanes) {
    lines.push_back(fmt::format("  lane {:<3} {} of {}{}{}", lane.lane.value(), count_text(lane.objects_done),
                                of_these(lane.objects_total, "object"), lane.current.empty() ? "" : ": ",
                                lane.current));
  }
  return lines;
}

std::string progress_line(const PipelineSnapshot& snapshot, const ProgressRates& rates, Duration elapsed) {
  std::string text = fmt::format("progress: {}", phase_of(snapshot));
  if (const std::string done = done_text(snapshot); !done.empty()) text += ", " + done;
  text += fmt::format(", {}, {}, {} so far", rate_text(rates), records_text(snapshot), time_text(elapsed));
  if (rates.time_left()) text += fmt::format(", ETA {}", time_text(*rates.time_left()));
  if (const std::string wait = wait_of(snapshot); !wait.empty()) text += ", " + wait;
  return text;
}

std::string progress_json(const PipelineSnapshot& snapshot, const ProgressRates& rates, Duration elapsed) {
  nlohmann::ordered_json line{
      {"type", "progress"},
      {"phase", phase_of(snapshot)},
      {"elapsed_seconds", std::chrono::duration<double>(elapsed).count()},
      {"records_in", snapshot.records_in},
      {"records_out", snapshot.records_out},
      {"records_filtered", snapshot.records_filtered},
      {"records_skipped", snapshot.records_skipped},
      {"records_dead_lettered", snapshot.records_dead_lettered},
      {"records_left", records_left(snapshot)},
      {"payload_bytes", snapshot.payload_bytes},
      {"bytes_written", snapshot.bytes_written},
      {"batches_written", snapshot.batches_written},
      {"write_retries", snapshot.write_retries},
      {"inflight_bytes", snapshot.inflight_bytes},
      {"pending_batches", snapshot.pending_batches},
      {"objects_done", snapshot.source.objects_done},
      {"objects_total", snapshot.source.objects_total},
      {"objects_skipped", snapshot.source.objects_skipped},
      {"objects_quarantined", snapshot.source.objects_quarantined},
      {"source_bytes_done", snapshot.source.bytes_done},
      {"source_bytes_total", snapshot.source.bytes_total},
      {"bytes_per_second", static_cast<std::uint64_t>(rates.bytes_per_second())},
      {"records_per_second", static_cast<std::uint64_t>(rates.records_per_second())},
      {"waiting_for", snapshot.waiting_for},
  };
  if (rates.time_left()) line["eta_seconds"] = std::chrono::duration<double>(*rates.time_left()).count();
  if (!snapshot.last_write_error.empty()) line["last_write_error"] = snapshot.last_write_error;
  return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace millrace::cli
