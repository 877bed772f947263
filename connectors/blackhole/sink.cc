// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "millrace/connectors/console.h"

namespace millrace {
namespace {

struct NoOptions {};

const Schema<NoOptions>& blackhole_schema() {
  static const Schema<NoOptions> all("blackhole",
                                     "Counts records and keeps nothing of them. For measuring and trying out.");
  return all;
}

class CountingWriter final : public Writer {
 public:
  Result<Receipt> write(SealedBatch& batch) override { return Receipt{"", batch.size()}; }
};

class BlackholeSinkImpl final : public Sink {
 public:
  std::string_view type() const override { return "blackhole"; }
  Result<void> open(SinkContext /*context*/) override { return {}; }
  Result<std::unique_ptr<Writer>> make_writer() override { return std::make_unique<CountingWriter>(); }
  SealPolicy seal_policy() const override {
    SealPolicy policy;
    policy.max_records = 65'536;  // discarded records have no bytes to count
    policy.max_age = std::chrono::seconds(1);
    return policy;
  }
  EncodeSpec encode_spec() const override {
    EncodeSpec spec;
    spec.format = EncodeFormat::discard;
    return spec;
  }
  SinkTraits traits() const override { return {.concurrency = 1, .ordered = false}; }
};

}  // namespace

Result<std::unique_ptr<Sink>> BlackholeSink::make() { return std::make_unique<BlackholeSinkImpl>(); }

SinkKind BlackholeSink::kind() {
  return {"blackhole", blackhole_schema().description(),
          [](const ConfigSection& section) -> Result<void> {
            MILLRACE_TRY(blackhole_schema().parse(section));
            return {};
          },
          [](const ConfigSection& section, const BuildContext&) -> Result<std::unique_ptr<Sink>> {
            MILLRACE_TRY(blackhole_schema().parse(section));
            return make();
          }};
}

}  // namespace millrace
