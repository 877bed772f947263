// SPDX-License-Identifier: Apache-2.0
// The main job as a program: every NDJSON object under a prefix, gzip, zstd or plain, parsed into a type, filtered, and
// landed as JSON lines; killed and started again it goes on from its manifest. With file:// urls it needs nothing; with
// s3:// ones credentials come from where AWS's own tools take them.
//
//   s3_backfill file://$PWD/examples/data/earthquakes/ file:///tmp/strong/ file:///tmp/strong.json
#include <millrace/connectors/s3.h>
#include <millrace/decode/json.h>
#include <millrace/encode/encode.h>
#include <millrace/ops/ops.h>
#include <millrace/pipeline/pipeline.h>

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

namespace quakes {

struct Properties {
  std::optional<double> mag;
  std::string_view place;  // borrows the payload until the record is encoded
  std::int64_t time = 0;
};
MILLRACE_JSON_FIELDS(Properties, mag, place, time);

struct Feature {
  Properties properties;
  std::string_view id;
};
MILLRACE_JSON_FIELDS(Feature, properties, id);

struct Strong {
  std::string_view id;
  double magnitude = 0;
  std::string_view place;
};
MILLRACE_JSON_FIELDS(Strong, id, magnitude, place);

bool is_strong(const Feature& quake) { return quake.properties.mag.value_or(0) >= 5.5; }
Strong in_short(const Feature& quake) { return {quake.id, *quake.properties.mag, quake.properties.place}; }

}  // namespace quakes

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: s3_backfill FROM_URL TO_URL MANIFEST_URL\n");
    return 2;
  }
  millrace::S3SourceOptions from;
  from.url = argv[1];
  from.checkpoint.url = argv[3];
  millrace::S3SinkOptions to;
  to.url = argv[2];
  to.path_template = "{topic}";
  to.wrap = false;

  namespace decode = millrace::decode;
  namespace ops = millrace::ops;
  namespace encode = millrace::encode;
  millrace::Pipeline pipeline({.name = "strong-quakes"});
  const millrace::RunReport report =
      pipeline.sink(millrace::S3Sink::make(to))
          .chain([](const millrace::ChainContext&) {
            return decode::json<quakes::Feature>({.unknown_fields = millrace::UnknownFields::ignore}) |
                   ops::filter(quakes::is_strong) | ops::map(quakes::in_short) | encode::json_lines();
          })
          .run(millrace::S3Source::make(from));

  if (report.error) std::fprintf(stderr, "%s\n", report.error->describe().c_str());
  std::printf("%s: %d in, %d out, %d filtered\n", std::string(to_string(report.state)).c_str(),
              static_cast<int>(report.records_in), static_cast<int>(report.records_out),
              static_cast<int>(report.records_filtered));
  return report.exit_code();
}
