// SPDX-License-Identifier: Apache-2.0
// Registry: the connectors a program can name in YAML. Built by hand in cli/main.cc, which so reads as the parts list
// of the program; a library user needs none.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/log.h"
#include "millrace/base/result.h"
#include "millrace/config/schema.h"
#include "millrace/pipeline/plan.h"
#include "millrace/sink/sink.h"
#include "millrace/source/source.h"

#pragma GCC visibility push(default)
namespace millrace {

/// Where the receipt of a run goes: an account of everything that was read, at its end (docs/formats/receipt.md).
struct ReceiptRequest {
  std::string url;                           ///< of the object; empty: none is asked for
  std::map<std::string, std::string> store;  ///< store options; empty: those of a store that is in use anyway
};

/// What factories get beside their section.
struct BuildContext {
  std::string pipeline;               ///< the pipeline's name
  std::size_t threads = 0;            ///< lane threads asked for; 0: cores
  bool per_partition_detail = false;  ///< metrics for each partition of a stream
  Clock* clock = &Clock::real();
  Random* random = &Random::system();
  Logger log;
  // Words of the command line that change how a source starts:
  bool reset = false;              ///< --reset: forget the kept position
  bool expect_resume = false;      ///< --expect-resume: a missing position is an error
  bool take_over = false;          ///< --take-over: do not wait for another owner
  bool retry_quarantined = false;  ///< --retry-quarantined: read what was set aside, and nothing else
  ReceiptRequest receipt;          ///< of the source, where it gives one
};

/// What `millrace verify` or `millrace plan` has found.
struct Verdict {
  bool ok = false;
  std::string text;
};

struct SourceKind {
  std::string name;  ///< the key under `source:`
  ComponentDescription description;
  /// Parses and checks only; opens nothing.
  std::function<Result<void>(const ConfigSection&)> validate;
  std::function<Result<std::unique_ptr<Source>>(const ConfigSection&, const BuildContext&)> make;
  /// What each payload of a valid section is, by name ("csv"), where not every decoder can read it. Null: any can.
  std::function<std::string(const ConfigSection&)> payload_format;
  /// Whether BuildContext::receipt can go where it is asked for, beside a section that is valid; opens nothing. Null:
  /// the source gives none.
  std::function<Result<void>(const ConfigSection&, const ReceiptRequest&)> check_receipt;
  /// For `millrace status`: reads the kept position and renders it for people; json asks for one JSON document. Null:
  /// nothing kept.
  std::function<Result<std::string>(const ConfigSection&, const BuildContext&, bool json)> status;
  /// For `millrace status --drift`: gives `write` a line of JSON for each part of the input that has changed since the
  /// first run, and a last one with the counts. Null: the source cannot tell.
  std::function<Result<void>(const ConfigSection&, const BuildContext&,
                             const std::function<Result<void>(std::string_view)>& write)>
      drift;
  /// What has to be set (`key.path=value`) for a run to go on past a record or an object that failed with this code;
  /// empty when it would not, or does so already. Null: no run does.
  std::function<std::string(const ConfigSection&, ErrorCode)> past_faults;
  /// For `millrace verify`: compares what there is now with the receipt. Null: the source gives none.
  std::function<Result<Verdict>(const ConfigSection&, const BuildContext&, bool json)> verify;
  /// Source::replay_gap of a valid section. Null: it never reads the same records again.
  std::function<std::string(const ConfigSection&)> replay_gap = nullptr;
  /// For `millrace plan`: everything that a run would decide before it moves a byte; claims, writes and locks nothing.
  /// Not ok when a run would fail. Null: the source cannot tell.
  std::function<Result<Verdict>(const ConfigSection&, const BuildContext&, const PlanRequest&)> plan;
  /// For `millrace explain`: what the records of a valid section will say of where they came from; opens nothing. Null:
  /// the source cannot tell.
  std::function<Result<Origin>(const ConfigSection&, const BuildContext&)> names = nullptr;
  /// For `millrace explain`: the stages that a run with a valid section has of this source, and what they hold; opens
  /// nothing. Null: the source cannot tell.
  std::function<Result<SourceWay>(const ConfigSection&, const BuildContext&)> way = nullptr;
};
struct SinkKind {
  std::string name;
  ComponentDescription description;
  std::function<Result<void>(const ConfigSection&)> validate;
  std::function<Result<std::unique_ptr<Sink>>(const ConfigSection&, const BuildContext&)> make;
  /// What a run with a valid section needs to be allowed to do. Null: nothing that could be refused.
  std::function<Result<std::vector<NeededRight>>(const ConfigSection&)> rights = nullptr;
  /// For `millrace explain`: how what a run with a valid section writes will be called and where it ends; opens
  /// nothing. Not ok when some of it could not be written. Null: it makes no names.
  std::function<Result<Verdict>(const ConfigSection&, const BuildContext&, const ExplainRequest&)> explain = nullptr;
  /// For `millrace explain`: what writers of a valid section do, and where, without secrets: "put objects below
  /// s3://bucket/prefix/". Null: the sink's name says it.
  std::function<Result<std::string>(const ConfigSection&)> place = nullptr;
};

class Registry {
 public:
  void add(SourceKind kind) { sources_.push_back(std::move(kind)); }
  void add(SinkKind kind) { sinks_.push_back(std::move(kind)); }
  [[nodiscard]] const SourceKind* source(std::string_view name) const {
    for (const SourceKind& kind : sources_) {
      if (kind.name == name) return &kind;
    }
    return nullptr;
  }
  [[nodiscard]] const SinkKind* sink(std::string_view name) const {
    for (const SinkKind& kind : sinks_) {
      if (kind.name == name) return &kind;
    }
    return nullptr;
  }
  [[nodiscard]] const std::vector<SourceKind>& sources() const noexcept { return sources_; }
  [[nodiscard]] const std::vector<SinkKind>& sinks() const noexcept { return sinks_; }

 private:
  std::vector<SourceKind> sources_;
  std::vector<SinkKind> sinks_;
};

}  // namespace millrace
#pragma GCC visibility pop
