// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <utility>

#include "connectors/stdout/descriptor_writer.h"
#include "millrace/connectors/console.h"

namespace millrace {

template <>
struct EnumNames<StdoutFormat> {
  static constexpr std::array<std::pair<std::string_view, StdoutFormat>, 2> names{
      {{"raw", StdoutFormat::raw}, {"json_lines", StdoutFormat::json_lines}}};
};

namespace {

const Schema<StdoutSinkOptions>& stdout_schema() {
  using Options = StdoutSinkOptions;
  static const Schema<Options> all = [] {
    Schema<Options> s(
        "stdout",
        "Writes records to standard output, one a line. Behind `> file` a position is committed when the file is "
        "synced; a pipe or a terminal has no such thing, so there it is committed once the kernel has "
        "taken the records, read or not. To go on with a file after a kill append to it (>>); a line that was torn is "
        "ended, and its record follows whole.");
    s.optional("format", &Options::format,
               "raw: the payload as it is, and a newline. json_lines: a JSON document a line; the payload must be JSON "
               "unless wrap is on.");
    s.optional("wrap", &Options::wrap,
               "json_lines: an object a line with offset, timestamp, stream, topic, partition_id and payload.");
    s.check([](const Options& options, const ConfigSection& at, ConfigProblems& problems) {
      if (options.format != StdoutFormat::raw || !options.wrap) return;
      const ConfigSection wrap = at.child("wrap");
      problems.add(wrap.where(), wrap.path() + ": has a meaning with format json_lines only");
    });
    return s;
  }();
  return all;
}

class ConsoleSink final : public Sink {
 public:
  explicit ConsoleSink(StdoutSinkOptions options) : options_(options) {}

  std::string_view type() const override { return "stdout"; }
  Result<void> open(SinkContext context) override {
    MILLRACE_TRY(stdout_sink::DescriptorWriter::make(options_.descriptor));
    MILLRACE_ASSIGN(const bool torn, stdout_sink::DescriptorWriter::end_torn_line(options_.descriptor));
    if (torn) {
      context.log.warn(
          "the file ended within a line, as a process leaves it that was killed while it wrote; that line is "
          "ended where it is, and its record follows whole");
    }
    return {};
  }
  Result<std::unique_ptr<Writer>> make_writer() override {
    return stdout_sink::DescriptorWriter::make(options_.descriptor);
  }
  SealPolicy seal_policy() const override {
    SealPolicy policy;
    // Each batch of a file is synced, which takes a disk milliseconds whatever the size.
    policy.max_bytes = stdout_sink::DescriptorWriter::keeps_bytes(options_.descriptor) ? 4U << 20U : 64U << 10U;
    policy.max_age = std::chrono::milliseconds(100);  // a person is watching
    return policy;
  }
  EncodeSpec encode_spec() const override {
    EncodeSpec spec;
    spec.format = options_.format == StdoutFormat::raw ? EncodeFormat::raw : EncodeFormat::json_lines;
    spec.delimiter = "\n";
    spec.wrap = options_.wrap;
    return spec;
  }
  RetryPolicy retry_policy() const override {
    RetryPolicy policy;
    policy.on_failure = OnWriteFailure::fail;  // nobody repairs a broken terminal
    return policy;
  }
  SinkTraits traits() const override { return {.concurrency = 1, .ordered = true}; }

 private:
  const StdoutSinkOptions options_;
};

}  // namespace

Result<std::unique_ptr<Sink>> StdoutSink::make(StdoutSinkOptions options) {
  if (options.format == StdoutFormat::raw && options.wrap) {
    return fail(Error::config("sink.stdout.wrap: has a meaning with format json_lines only"));
  }
  return std::make_unique<ConsoleSink>(options);
}

SinkKind StdoutSink::kind() {
  return {"stdout", stdout_schema().description(),
          [](const ConfigSection& section) -> Result<void> {
            MILLRACE_TRY(stdout_schema().parse(section));
            return {};
          },
          [](const ConfigSection& section, const BuildContext&) -> Result<std::unique_ptr<Sink>> {
            MILLRACE_ASSIGN(const StdoutSinkOptions options, stdout_schema().parse(section));
            return make(options);
          }};
}

}  // namespace millrace
