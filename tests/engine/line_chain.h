// SPDX-License-Identifier: Apache-2.0
// LineChain: a chain written by hand that writes each payload and a line feed to one or several sinks, and does to
// single payloads what a test says. It splits acks at seals as compiled chains do, so the engine is tested without
// them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "millrace/pipeline/chain.h"

namespace millrace::testing {

enum class LineAction { write, filter, skip, fail };

struct LineChainOptions {
  std::vector<std::string> outputs{""};
  /// Looks at each payload before it is written; may throw.
  std::function<LineAction(std::string_view payload, const RecordMeta& meta)> look;
};

class LineChain final : public LaneChain {
 public:
  LineChain(const ChainContext& context, LineChainOptions options) : options_(std::move(options)) {
    for (const std::string& name : options_.outputs) sinks_.push_back(context.outputs->find(name));
  }

  static ChainFactory factory(LineChainOptions options = {}) {
    return [options](const ChainContext& context) -> Result<std::unique_ptr<LaneChain>> {
      return std::make_unique<LineChain>(context, options);
    };
  }

  ChainStep run(const PayloadBatch& batch, std::size_t from, AckRef& ack, AckIssuer& issuer,
                ChainCounts& counts) override {
    for (LaneSink* sink : sinks_) sink->begin_batch(batch);
    for (std::size_t i = from; i < batch.payloads.size(); ++i) {
      if (blocked()) return {i, std::nullopt};
      const RecordMeta meta = batch.meta(i);
      const LineAction action = options_.look ? options_.look(batch.payloads[i], meta) : LineAction::write;
      if (action == LineAction::fail) {
        return {i, Error::record(ErrorCode::malformed, "a payload is not what it should be")};
      }
      ++counts.records_in;
      counts.payload_bytes += batch.payloads[i].size();
      if (action == LineAction::filter) ++counts.filtered;
      if (action == LineAction::skip) counts.skip(ErrorCode::malformed);
      if (action != LineAction::skip) ++counts.records_decoded;
      if (action == LineAction::write) write(batch.payloads[i], meta, ack, issuer, counts);
    }
    return {batch.payloads.size(), std::nullopt};
  }

 private:
  [[nodiscard]] bool blocked() const {
    for (const LaneSink* sink : sinks_) {
      if (sink->blocked()) return true;
    }
    return false;
  }

  void write(std::string_view payload, const RecordMeta& meta, AckRef& ack, AckIssuer& issuer, ChainCounts& counts) {
    for (LaneSink* sink : sinks_) {
      ByteBuffer& bytes = sink->begin_record(meta);
      bytes.append(payload);
      bytes.push_back('\n');
      sink->end_record(meta, ack);
      ++counts.records_out;
    }
    bool sealed = false;
    for (LaneSink* sink : sinks_) {
      if (!sink->seal_due()) continue;
      sink->seal_due_files();
      sealed = true;
    }
    if (sealed && ack && meta.offset < ack.last_offset()) {
      AckRef rest = issuer.split(ack, meta.offset);
      ack = std::move(rest);
    }
  }

  const LineChainOptions options_;
  std::vector<LaneSink*> sinks_;
};

}  // namespace millrace::testing
