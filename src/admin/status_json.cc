// SPDX-License-Identifier: Apache-2.0
#include "admin/status_json.h"

#include <chrono>
#include <nlohmann/json.hpp>

namespace millrace::admin {
namespace {

using Json = nlohmann::ordered_json;

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json source_json(const PipelineSnapshot& snapshot) {
  const SourceProgress& progress = snapshot.source;
  Json lanes = Json::array();
  for (const SourceProgress::Lane& lane : progress.lanes) {
    lanes.push_back({{"lane", lane.lane.value()},
                     {"objects_total", lane.objects_total},
                     {"objects_done", lane.objects_done},
                     {"current", text_or_null(lane.current)}});
  }
  // A source that says something else than JSON is quoted rather than dropped.
  Json status = Json::parse(snapshot.source_status_json, nullptr, false);
  if (status.is_discarded()) status = text_or_null(snapshot.source_status_json);
  return {{"phase", progress.phase},
          {"objects_total", progress.objects_total},
          {"objects_done", progress.objects_done},
          {"objects_skipped", progress.objects_skipped},
          {"objects_quarantined", progress.objects_quarantined},
          {"bytes_total", progress.bytes_total},
          {"bytes_done", progress.bytes_done},
          {"lanes", std::move(lanes)},
          {"status", std::move(status)}};
}

}  // namespace

std::string_view to_string(PipelineSnapshot::Phase phase) noexcept {
  switch (phase) {
    case PipelineSnapshot::Phase::starting:
      return "starting";
    case PipelineSnapshot::Phase::running:
      return "running";
    case PipelineSnapshot::Phase::draining:
      return "draining";
    case PipelineSnapshot::Phase::ended:
      return "ended";
  }
  return "unknown";
}

std::string to_status_json(const PipelineSnapshot& snapshot) {
  const Json document{{"phase", to_string(snapshot.phase)},
                      {"records",
                       {{"in", snapshot.records_in},
                        {"out", snapshot.records_out},
                        {"filtered", snapshot.records_filtered},
                        {"skipped", snapshot.records_skipped},
                        {"dead_lettered", snapshot.records_dead_lettered}}},
                      {"payload_bytes", snapshot.payload_bytes},
                      {"bytes_written", snapshot.bytes_written},
                      {"batches_written", snapshot.batches_written},
                      {"write_retries", snapshot.write_retries},
                      {"inflight_bytes", snapshot.inflight_bytes},
                      {"pending_batches", snapshot.pending_batches},
                      {"lanes",
                       {{"total", snapshot.lanes},
                        {"exhausted", snapshot.lanes_exhausted},
                        {"blocked", snapshot.lanes_blocked},
                        {"idle", snapshot.lanes_idle}}},
                      {"waiting_for", text_or_null(snapshot.waiting_for)},
                      {"last_write_error", text_or_null(snapshot.last_write_error)},
                      {"seconds_since_commit", seconds(snapshot.since_commit)},
                      {"seconds_since_heartbeat", seconds(snapshot.since_control_heartbeat)},
                      {"source", source_json(snapshot)}};
  // Keys of objects are any bytes: what is no UTF-8 is shown as U+FFFD.
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace millrace::admin
