// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/plan_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "millrace/base/figures.h"
#include "millrace/base/printable.h"
#include "millrace/config/values.h"

namespace millrace::s3_source {
namespace {

/// Lines with a name in front of what is said first under it.
class Lines {
 public:
  void add(std::string_view name, std::string_view text) { text_ += fmt::format("  {:<11}{}\n", name, text); }
  void more(std::string_view text) { add("", text); }
  [[nodiscard]] std::string take() && { return std::move(text_); }

 private:
  std::string text_;
};

void objects(const BackfillPlan& plan, Lines& lines) {
  const ListingCounts& counts = plan.counts;
  std::string text = count_text(plan.objects);
  const auto note = [&](std::uint64_t count, std::string_view what) {
    if (count != 0) text += fmt::format(", {} {}", count_text(count), what);
  };
  note(counts.empty, "of them empty");
  note(counts.markers, "of them folder markers");
  note(counts.archived,
       plan.archived_skipped ? "of them archived: skipped unless they have been restored" : "of them archived");
  note(counts.filtered, "filtered out");
  if (counts.listed != plan.objects) text += fmt::format("; {} listed", of_these(counts.listed, "key"));
  lines.add("objects", text);
  lines.add("bytes", bytes_text(plan.bytes) + " stored");
  if (plan.shard && plan.whole) {
    lines.add("shard", fmt::format("{}: {} of {}, {} of {}", plan.shard->describe(), count_text(plan.objects),
                                   of_these(plan.whole->objects, "object"), bytes_text(plan.bytes),
                                   bytes_text(plan.whole->bytes)));
  }
  if (!plan.siblings.empty()) {
    lines.add("also takes", plan.siblings);
    lines.more("since the prefix does not end in a slash; add it if the folder alone is meant");
  }
}

void codecs(const BackfillPlan& plan, Lines& lines) {
  std::string_view name = "codecs";
  for (const CodecShare& share : plan.codecs) {
    lines.add(name, fmt::format("{:<6}{:>12}  {:>10}", to_string(share.codec), of_these(share.objects, "object"),
                                bytes_text(share.bytes)));
    name = "";
  }
}

void balance(const LaneBalance& balance, Lines& lines) {
  const auto range = [](const std::string& least, const std::string& most) {
    return least == most ? least : fmt::format("{} to {}", least, most);
  };
  const bool alike = balance.least_objects == balance.most_objects;
  const std::string most = of_these(balance.most_objects, "object");
  lines.add("lanes", fmt::format("{}: {} each, {}", balance.lanes,
                                 alike ? most : fmt::format("{} to {}", count_text(balance.least_objects), most),
                                 range(bytes_text(balance.least_bytes), bytes_text(balance.most_bytes))));
  if (!balance.heavy) return;
  lines.more(fmt::format("lane {} has {:.1f} times the mean; its largest object is '{}' with {}", balance.heavy->lane,
                         balance.heavy->times_mean, printable(balance.heavy->key), bytes_text(balance.heavy->bytes)));
}

void resume(const BackfillPlan& plan, Lines& lines) {
  const ResumePlan& resume = plan.resume;
  switch (resume.kind) {
    case ResumePlan::Kind::fresh:
      lines.add("a run", "begins from the beginning" +
                             (resume.manifest_url.empty() ? "; its position goes with it, so it cannot be gone on with"
                                                          : "; the manifest is " + printable(resume.manifest_url)));
      break;
    case ResumePlan::Kind::resume:
      lines.add("a run", fmt::format("goes on from {}: {} and {} left", printable(resume.manifest_url),
                                     of_these(plan.left.objects, "object"), bytes_text(plan.left.bytes)));
      if (plan.left.in_progress != 0) {
        lines.more(fmt::format("{} in progress: read again, {} that are committed are dropped",
                               of_these(plan.left.in_progress, "object"), of_these(plan.left.records_again, "record")));
      }
      break;
    case ResumePlan::Kind::finished:
      lines.add("a run",
                fmt::format("has nothing left to do: {} says that all is committed", printable(resume.manifest_url)));
      break;
    case ResumePlan::Kind::refused:
      lines.add("a run", "would fail: " + resume.refusal);
      break;
  }
  if (!resume.listing_change.empty()) lines.more("the listing changed behind every position: " + resume.listing_change);
  if (resume.set_aside != 0) {
    const bool one = resume.set_aside == 1;
    lines.more(fmt::format("{} that could not be read {} set aside by earlier runs",
                           of_these(resume.set_aside, "object"), one ? "was" : "were"));
    if (resume.kind != ResumePlan::Kind::refused) {
      lines.more(
          fmt::format("so it ends with exit code 4; with --retry-quarantined, once all else is read, it reads {}",
                      one ? "that one" : "these"));
    }
  }
  if (resume.kept_by) {
    lines.more(
        fmt::format("another run keeps the manifest ({}): it is waited for, {} at most, and if it lives the run "
                    "fails",
                    resume.kept_by->describe(), to_string(resume.owner_timeout)));
  }
  if (plan.archived_unasked) {
    lines.more("would fail unless the archived objects have been restored (on_archived: fail); --sniff asks them");
  }
}

void sample(const BackfillPlan& plan, Lines& lines) {
  const Sample& sample = *plan.sample;
  std::string text =
      fmt::format("{}, the first {} of each", of_these(sample.objects.size(), "object"), bytes_text(kSampledBytes));
  const auto tell = [&](Codec codec) {
    const auto count = std::ranges::count_if(
        sample.objects, [&](const SampledObject& object) { return object.problem.empty() && object.codec == codec; });
    if (count != 0) text += fmt::format(", {} {}", count, codec == Codec::none ? "plain" : to_string(codec));
  };
  tell(Codec::none);
  std::ranges::for_each(kCodecs, tell);
  lines.add("sniffed", text);
  const auto encoded = static_cast<std::uint64_t>(std::ranges::count_if(
      sample.objects, [](const SampledObject& object) { return !object.content_encoding.empty(); }));
  if (encoded != 0) lines.more(fmt::format("{} with a Content-Encoding", of_these(encoded, "object")));
  if (const auto estimate = estimate_of(plan)) {
    lines.more(fmt::format("about {} decoded{}", bytes_text(estimate->decoded),
                           estimate->records ? ", " + of_these(*estimate->records, "record") : ""));
  }
  for (const SampledObject& object : sample.objects) {
    if (object.problem.empty()) continue;
    lines.more((object.set_aside ? "a run would set aside: " : "a run would fail: ") + object.problem);
  }
}

void requests(const BackfillPlan& plan, Lines& lines) {
  const std::string pages = of_these(plan.pages, "page") + " of the listing";
  if (plan.resume.kind == ResumePlan::Kind::refused) return lines.add("requests", pages);
  const bool s3 = plan.url.starts_with("s3:");
  lines.add("requests", fmt::format("{} {} of at most {}, {}", count_text(plan.left.reads), s3 ? "GET" : "reads",
                                    bytes_text(plan.read_bytes), pages));
  if (plan.resume.manifest_url.empty()) return;
  lines.more(fmt::format("the manifest is saved {:.3g} times a minute at most (checkpoint.interval, owner_timeout)",
                         plan.saves_per_minute));
}

void memory(const BackfillPlan& plan, Lines& lines) {
  lines.add("memory", bytes_text(total_of(plan.memory)) + " at most:");
  for (const MemoryPart& part : plan.memory) {
    lines.more(fmt::format("{:>10}  {:<15} {}", bytes_text(part.bytes), part.what, part.why));
  }
  if (plan.codecs_by_name) lines.more("a decoder more in each lane where only a Content-Encoding tells of compression");
}

void rights(const BackfillPlan& plan, Lines& lines) {
  std::size_t width = 0;
  for (const NeededRight& right : plan.rights) width = std::max(width, right.action.size());
  std::string_view name = "rights";
  for (const NeededRight& right : plan.rights) {
    lines.add(name, fmt::format("{:<{}}  {}  ({})", right.action, width, right.on, right.why));
    name = "";
  }
}

}  // namespace

std::string plan_text(const BackfillPlan& plan) {
  Lines lines;
  objects(plan, lines);
  codecs(plan, lines);
  balance(plan.balance, lines);
  if (plan.sample) sample(plan, lines);
  requests(plan, lines);
  memory(plan, lines);
  rights(plan, lines);
  resume(plan, lines);
  return printable(plan.url) + "\n" + std::move(lines).take();
}

}  // namespace millrace::s3_source
