// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>
#include <string_view>

#include "connectors/s3/bytes_json.h"
#include "connectors/s3/plan_text.h"
#include "connectors/s3/rolling_hash.h"
#include "millrace/base/printable.h"

namespace millrace::s3_source {
namespace {

using Json = nlohmann::ordered_json;

std::string_view name_of(ResumePlan::Kind kind) {
  switch (kind) {
    case ResumePlan::Kind::fresh:
      return "fresh";
    case ResumePlan::Kind::resume:
      return "resume";
    case ResumePlan::Kind::finished:
      return "finished";
    case ResumePlan::Kind::refused:
      break;
  }
  return "refused";
}

Json balance_json(const LaneBalance& balance) {
  Json json{{"lanes", balance.lanes},
            {"objects", {{"least", balance.least_objects}, {"most", balance.most_objects}}},
            {"bytes", {{"least", balance.least_bytes}, {"most", balance.most_bytes}}}};
  if (balance.heavy) {
    json["heavy"] = {{"lane", balance.heavy->lane},
                     {"times_mean", balance.heavy->times_mean},
                     {"largest_object", bytes_json(balance.heavy->key)},
                     {"bytes", balance.heavy->bytes}};
  }
  return json;
}

Json sample_json(const BackfillPlan& plan) {
  Json objects = Json::array();
  for (const SampledObject& object : plan.sample->objects) {
    Json one{{"key", bytes_json(object.key)}};
    if (!object.content_encoding.empty()) one["content_encoding"] = printable(object.content_encoding);
    if (object.problem.empty()) {
      one["codec"] = to_string(object.codec);
      one["stored"] = object.stored;
      one["decoded"] = object.decoded;
      one["records"] = object.records;
    } else {
      one["problem"] = object.problem;
      if (object.set_aside) one["set_aside"] = true;
    }
    objects.push_back(std::move(one));
  }
  Json json{{"objects", std::move(objects)}};
  if (const auto estimate = estimate_of(plan)) {
    json["estimate"] = {{"decoded_bytes", estimate->decoded}};
    if (estimate->records) json["estimate"]["records"] = *estimate->records;
  }
  return json;
}

Json run_json(const BackfillPlan& plan) {
  const ResumePlan& resume = plan.resume;
  Json json{{"state", name_of(resume.kind)}};
  if (!resume.manifest_url.empty()) json["manifest"] = printable(resume.manifest_url);
  if (resume.kind == ResumePlan::Kind::refused) {
    json["error"] = resume.refusal;
  } else {
    json["left"] = {{"objects", plan.left.objects}, {"bytes", plan.left.bytes}};
  }
  if (plan.left.in_progress != 0) {
    json["in_progress"] = {{"objects", plan.left.in_progress}, {"records_again", plan.left.records_again}};
  }
  if (!resume.listing_change.empty()) json["listing_change"] = resume.listing_change;
  if (resume.set_aside != 0) json["quarantined"] = resume.set_aside;
  if (resume.kept_by) json["kept_by"] = printable(resume.kept_by->describe());
  if (plan.archived_unasked) json["archived"] = "not asked whether they have been restored";
  return json;
}

}  // namespace

std::string plan_json(const BackfillPlan& plan) {
  const ListingCounts& counts = plan.counts;
  Json json{{"url", printable(plan.url)}, {"can_run", plan.can_run()}, {"objects", plan.objects},
            {"bytes", plan.bytes},        {"keys", counts.listed},     {"filtered", counts.filtered},
            {"empty", counts.empty},      {"markers", counts.markers}, {"archived", counts.archived}};
  if (plan.shard && plan.whole) {
    json["shard"] = {{"index", plan.shard->index}, {"count", plan.shard->count}};
    json["whole_listing"] = {
        {"objects", plan.whole->objects}, {"bytes", plan.whole->bytes}, {"hash", to_hex(plan.whole->hash)}};
  }
  if (!plan.siblings.empty()) json["siblings"] = plan.siblings;
  json["codecs"] = Json::object();
  for (const CodecShare& share : plan.codecs) {
    json["codecs"][std::string(to_string(share.codec))] = {{"objects", share.objects}, {"bytes", share.bytes}};
  }
  json["lanes"] = balance_json(plan.balance);
  if (plan.sample) json["sample"] = sample_json(plan);
  json["requests"] = {{"reads", plan.left.reads},
                      {"read_bytes", plan.read_bytes},
                      {"pages", plan.pages},
                      {"saves_per_minute", plan.saves_per_minute}};
  json["memory"] = {{"bytes", total_of(plan.memory)}, {"parts", Json::array()}};
  for (const MemoryPart& part : plan.memory) {
    Json one{{"what", part.what}, {"bytes", part.bytes}, {"why", part.why}};
    if (part.stage) one["stage"] = millrace::name_of(*part.stage);
    json["memory"]["parts"].push_back(std::move(one));
  }
  json["rights"] = Json::array();
  for (const NeededRight& right : plan.rights) {
    json["rights"].push_back({{"action", right.action}, {"on", right.on}, {"why", right.why}});
  }
  json["run"] = run_json(plan);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace millrace::s3_source
