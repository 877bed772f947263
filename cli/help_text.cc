// SPDX-License-Identifier: Apache-2.0
#include "cli/help_text.h"

#include <map>

#include "millrace/base/check.h"

namespace millrace::cli {

const HelpText& help_of(std::string_view command) {
  static const std::map<std::string_view, HelpText> texts{
      {"millrace",
       {"Moves records from object storage and streams to wherever they should go, and loses none.",
        {"millrace COMMAND [OPTIONS]", "millrace COMMAND --help"},
        {"millrace run pipeline.yaml", "millrace run --from s3://my-bucket/exports/ --to file:///data/exports/"},
        "\nExit codes: 0 completed, 1 failed, 2 bad usage or configuration, 3 stopped before the end,\n"
        "4 completed with errors.\n"}},
      {"run",
       {"Runs a pipeline to its end; stopped and run again, it goes on where it was.",
        {"millrace run FILE [OPTIONS]", "millrace run --from URL --to URL [--set PATH=VALUE]... [OPTIONS]"},
        {"millrace run pipeline.yaml --progress plain",
         "millrace run --from s3://my-bucket/exports/ --to file:///data/exports/ --set source.s3.lanes=8",
         "millrace run --from file:///data/in/ --to - --print-config",
         "millrace run pipeline.yaml --retry-quarantined"},
        "\nSIGINT or SIGTERM: writes and commits what is under way, then ends with 3 (0 where the source has no end of "
        "its\n"
        "own); a second one ends at once.\n"}},
      {"plan",
       {"Prints what a run would decide before it moves a byte; changes nothing.",
        {"millrace plan FILE [OPTIONS]", "millrace plan --from URL --to URL [--set PATH=VALUE]... [OPTIONS]"},
        {"millrace plan pipeline.yaml", "millrace plan pipeline.yaml --sniff --format json"},
        "\nObjects, bytes, codecs, how the lanes are dealt, requests, the most memory, rights, and where a run would\n"
        "begin. Exit code 1 when a run would fail.\n"}},
      {"explain",
       {"Shows a pipeline stage by stage, and how its objects are called; opens nothing.",
        {"millrace explain FILE [OPTIONS]", "millrace explain --from URL --to URL [--set PATH=VALUE]... [OPTIONS]"},
        {"millrace explain pipeline.yaml", "millrace explain pipeline.yaml --records sample.ndjson",
         "millrace explain pipeline.yaml --format json --set 'sink.s3.path_template={topic}/{field.type}'"},
        "\nFirst the data's way: for each stage its thread, what stands there, and what it holds at most with the "
        "option\n"
        "that sets it. Behind it, where the sink names objects, sample keys for the path_template of the file: of a\n"
        "partition's first two files, of another partition, of another topic. With --records, the file that each "
        "record\n"
        "of a sample would go to, and where null_fallback would stand for a value. Exit code 1 when one of them has "
        "no\n"
        "key.\n"}},
      {"validate",
       {"Checks pipeline files and tells every problem with its place; opens nothing.",
        {"millrace validate FILE..."},
        {"millrace validate pipeline.yaml", "millrace validate deploy/daily.yaml deploy/weekly.yaml"},
        ""}},
      {"status",
       {"Prints how far the kept position is, or what has changed since; reads no record.",
        {"millrace status FILE [OPTIONS]", "millrace status --from URL --to URL [--set PATH=VALUE]... [OPTIONS]"},
        {"millrace status pipeline.yaml", "millrace status pipeline.yaml --format json",
         "millrace status pipeline.yaml --drift"},
        ""}},
      {"verify",
       {"Holds the receipt of a run against what is listed now: every object, every record.",
        {"millrace verify FILE [OPTIONS]", "millrace verify --from URL --to URL --set receipt.url=URL [OPTIONS]"},
        {"millrace verify pipeline.yaml", "millrace verify pipeline.yaml --format json"},
        "\nThe file (or --set) asks for a receipt (`receipt: {url: ...}`), and was run to its end. Exit code 1 on any "
        "gap.\n"}},
      {"describe",
       {"Prints every key of a component with its type, default, range and meaning.",
        {"millrace describe [COMPONENT] [--format text|markdown|json-schema]"},
        {"millrace describe s3-source", "millrace describe --format json-schema"},
        "\nWithout a component: the list of them, or with --format the whole pipeline file.\n"}},
      {"import",
       {"Prints the pipeline file that does what a connector file of another program does.",
        {"millrace import iggy FILE.toml [OPTIONS]"},
        {"millrace import iggy s3.toml > s3.yaml",
         "millrace import iggy s3.toml --runtime config.toml --stream application_logs --compat"},
        "\nFrom iggy: an S3 sink of Apache Iggy's connectors runtime. What has no counterpart is named in the file and "
        "on\n"
        "stderr. Passwords and keys are not copied; the file names the variables that they are taken from.\n"}},
  };
  const auto found = texts.find(command);
  MILLRACE_CHECK(found != texts.end(), "every command has its help text");
  return found->second;
}

}  // namespace millrace::cli
