// SPDX-License-Identifier: Apache-2.0
#include "cli/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "cli/terminal.h"
#include "millrace/base/figures.h"
#include "millrace/sink/sink.h"

namespace millrace::cli {
namespace {

using ByReason = std::map<std::string, std::uint64_t>;

std::uint64_t total(const ByReason& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const auto& reason) { return sum + reason.second; });
}

/// "3 skipped (malformed 2, truncated 1)".
std::string counted(const ByReason& counts, std::string_view fate) {
  const std::string line = fmt::format("{} {}", count_text(total(counts)), fate);
  std::string reasons;
  for (const auto& [reason, count] : counts) {
    reasons += fmt::format("{}{} {}", reasons.empty() ? "" : ", ", reason, count_text(count));
  }
  return reasons.empty() ? line : fmt::format("{} ({})", line, reasons);
}

std::string records_line(const RunReport& report) {
  std::string line = fmt::format("{} in, {} out", count_text(report.records_in), count_text(report.records_out));
  if (report.records_filtered > 0) line += fmt::format(", {} filtered", count_text(report.records_filtered));
  if (report.records_left_out > 0)
    line += fmt::format(", {} left out (an earlier run wrote them)", count_text(report.records_left_out));
  if (report.records_put_off > 0) line += fmt::format(", {} left to the next run", count_text(report.records_put_off));
  line += ", " + counted(report.records_skipped, "skipped");
  if (report.records_dead_lettered.empty()) return line;
  line += ", " + counted(report.records_dead_lettered, "dead-lettered");
  const std::uint64_t handed = total(report.records_dead_lettered);
  if (report.dead_letters_written >= handed) return line;
  return line + fmt::format(", of which {} are written", count_text(report.dead_letters_written));
}

/// What failed while it was written stands in no object that was read.
bool is_of_sink(const Error& error) {
  return std::ranges::any_of(error.context(), [](const auto& entry) {
    return entry.first == "component" &&
           (entry.second == "sink" || entry.second == kDeadLetterSink || entry.second.starts_with("sink "));
  });
}

/// What a person does next.
std::string next_line(const RunReport& report, const SummaryContext& context) {
  const std::string go_on = context.again + (context.retried ? " --retry-quarantined" : "");
  switch (report.state) {
    case ExitState::completed:
      return {};
    case ExitState::completed_with_errors:
      return fmt::format("mend or replace them, then: {} --retry-quarantined", context.again);
    case ExitState::stopped:
      break;
    case ExitState::failed:
      if (context.exit_code == 2) return "nothing was moved: mend the configuration, then run it again";
      if (!context.position_kept) return "no position was kept: another run begins anew";
      // A setting or a word that does not fit the position: the same command would fail again.
      if (report.error && report.error->code() == ErrorCode::manifest && report.records_in == 0)
        return "nothing was moved: the error says what to change";
      // A mended object is another one, and what is committed of it would be gone.
      if (report.error && !is_of_sink(*report.error) && !context.past_faults.empty()) {
        return fmt::format("go on past it: {} --set {}; then mend it, and: {} --retry-quarantined", context.again,
                           context.past_faults, context.again);
      }
      return fmt::format("when the cause is gone, go on with: {}", go_on);
  }
  if (!context.position_kept) return "no position was kept: another run begins anew";
  return fmt::format("go on with: {}", go_on);
}

}  // namespace

std::string summary_text(const RunReport& report, const SummaryContext& context) {
  std::string text = fmt::format("{} after {}\n", to_string(report.state), time_text(report.elapsed));
  if (report.error) text += fmt::format("  error      {}\n", harmless(report.error->describe()));
  text += fmt::format("  records    {}\n", records_line(report));
  if (report.objects_skipped > 0) {
    text += fmt::format("  left out   {} that could not be read, as the source was told to\n",
                        of_these(report.objects_skipped, "object"));
  }
  if (report.objects_quarantined > 0) {
    text +=
        fmt::format("  set aside  {} could not be read; the manifest and `millrace status FILE` name {}\n",
                    of_these(report.objects_quarantined, "object"), report.objects_quarantined == 1 ? "it" : "them");
  }
  text += fmt::format("  bytes      {} read, {} written in {}\n", bytes_text(report.payload_bytes),
                      bytes_text(report.bytes_written), of_these(report.batches_written, "write"));
  if (report.records_unacknowledged > 0) {
    text += fmt::format("  open       {} not written, so not committed\n", count_text(report.records_unacknowledged));
  }
  if (report.writes_dropped > 0) {
    text +=
        fmt::format("  dropped    {} given up on, as the sink was told to\n", of_these(report.writes_dropped, "write"));
  }
  if (!report.committed_summary.empty() && context.position_kept) {
    text += fmt::format("  committed  {}\n", harmless(report.committed_summary));
  }
  if (context.counts_as_failed)
    text += fmt::format("  exit       4, because {} skipped and --fail-on-skipped was given\n",
                        report.records_skipped.empty() && report.records_dead_lettered.empty() ? "objects were"
                        : report.objects_skipped == 0                                          ? "records were"
                                                      : "records and objects were");
  if (const std::string next = next_line(report, context); !next.empty())
    text += fmt::format("  next       {}\n", next);
  return text;
}

std::string summary_json(const RunReport& report, const SummaryContext& context) {
  nlohmann::ordered_json line{
      {"type", "summary"},
      {"state", to_string(report.state)},
      {"exit_code", context.exit_code},
      {"elapsed_seconds", std::chrono::duration<double>(report.elapsed).count()},
      {"records_in", report.records_in},
      {"records_out", report.records_out},
      {"records_filtered", report.records_filtered},
      {"records_left_out", report.records_left_out},
      {"records_put_off", report.records_put_off},
      {"records_skipped", report.records_skipped},
      {"records_dead_lettered", report.records_dead_lettered},
      {"dead_letters_written", report.dead_letters_written},
      {"objects_skipped", report.objects_skipped},
      {"objects_quarantined", report.objects_quarantined},
      {"payload_bytes", report.payload_bytes},
      {"bytes_written", report.bytes_written},
      {"batches_written", report.batches_written},
      {"records_unacknowledged", report.records_unacknowledged},
      {"writes_dropped", report.writes_dropped},
      {"committed", report.committed_summary},
      {"next", next_line(report, context)},
  };
  if (report.error) line["error"] = report.error->describe();
  return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace millrace::cli
