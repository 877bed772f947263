// SPDX-License-Identifier: Apache-2.0
// The command line: what each form means, every way to get it wrong, and help texts whose examples are tried.
#include "cli/command_line.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "cli/help_text.h"
#include "millrace/version.h"

namespace millrace::cli {
namespace {

std::string usage_error(std::vector<std::string> arguments) {
  const CommandLine line = parse_command_line(arguments);
  const auto* error = std::get_if<UsageError>(&line);
  return error != nullptr ? error->text : "accepted";
}

std::string shown(std::vector<std::string> arguments) {
  const CommandLine line = parse_command_line(arguments);
  const auto* text = std::get_if<ShowText>(&line);
  return text != nullptr ? text->text : "";
}

TEST(CommandLine, PlanTakesWhatStatusTakesAndSniffs) {
  const CommandLine line = parse_command_line({"plan", "p.yaml", "--set", "a=1", "--sniff", "--format", "json"});
  const auto* plan = std::get_if<PlanArguments>(&line);
  ASSERT_NE(plan, nullptr) << usage_error({"plan", "p.yaml"});
  EXPECT_EQ(plan->input.file, "p.yaml");
  EXPECT_EQ(plan->input.set, std::vector<std::string>{"a=1"});
  EXPECT_TRUE(plan->sniff && plan->json);
  const CommandLine plain = parse_command_line({"plan", "--from", "file:///a/", "--to", "-"});
  ASSERT_NE(std::get_if<PlanArguments>(&plain), nullptr);
  EXPECT_FALSE(std::get<PlanArguments>(plain).sniff || std::get<PlanArguments>(plain).json);
  EXPECT_NE(usage_error({"plan"}).find("name a pipeline FILE"), std::string::npos);
}

TEST(CommandLine, ExplainTakesASample) {
  const CommandLine line =
      parse_command_line({"explain", "p.yaml", "--records", "-", "--format", "json", "--set", "a=1"});
  const auto* explain = std::get_if<ExplainArguments>(&line);
  ASSERT_NE(explain, nullptr);
  EXPECT_EQ(explain->input.file, "p.yaml");
  EXPECT_EQ(explain->records, "-");
  EXPECT_TRUE(explain->json);
  const CommandLine plain = parse_command_line({"explain", "p.yaml"});
  ASSERT_NE(std::get_if<ExplainArguments>(&plain), nullptr);
  EXPECT_FALSE(std::get<ExplainArguments>(plain).json);
  EXPECT_NE(usage_error({"explain", "p.yaml", "--json"}).find("unknown option '--json'"), std::string::npos);
  EXPECT_NE(usage_error({"explain"}).find("name a pipeline FILE"), std::string::npos);
}

TEST(CommandLine, RunOfAFileWithEveryOption) {
  const CommandLine line = parse_command_line({"run", "p.yaml", "--set", "a.b=1", "--set", "c=-2", "--progress", "json",
                                               "--log-format", "json", "--log-level", "debug", "--reset", "--yes",
                                               "--take-over", "--fail-on-skipped", "-v", "--print-config"});
  const auto* run = std::get_if<RunArguments>(&line);
  ASSERT_NE(run, nullptr) << usage_error({"run", "p.yaml"});
  EXPECT_EQ(run->input.file, "p.yaml");
  EXPECT_EQ(run->input.set, (std::vector<std::string>{"a.b=1", "c=-2"}));
  EXPECT_EQ(run->progress, ProgressMode::json);
  EXPECT_EQ(run->log_format, LogFormat::json);
  EXPECT_EQ(run->log_level, LogLevel::debug);
  EXPECT_TRUE(run->reset && run->yes && run->take_over && run->fail_on_skipped && run->verbose && run->print_config);
  EXPECT_FALSE(run->expect_resume);
}

TEST(CommandLine, RunFromTo) {
  const CommandLine line = parse_command_line({"run", "--from", "file:///in/", "--to", "-"});
  const auto* run = std::get_if<RunArguments>(&line);
  ASSERT_NE(run, nullptr);
  EXPECT_EQ(run->input.from, "file:///in/");
  EXPECT_EQ(run->input.to, "-");
  EXPECT_EQ(run->progress, ProgressMode::automatic);
  EXPECT_FALSE(run->log_level);
}

TEST(CommandLine, TheOtherCommands) {
  const CommandLine files = parse_command_line({"validate", "a.yaml", "b.yaml"});
  ASSERT_NE(std::get_if<ValidateArguments>(&files), nullptr);
  EXPECT_EQ(std::get<ValidateArguments>(files).files.size(), 2U);
  const CommandLine json = parse_command_line({"status", "a.yaml", "--format", "json"});
  ASSERT_NE(std::get_if<StatusArguments>(&json), nullptr);
  EXPECT_TRUE(std::get<StatusArguments>(json).json);
  EXPECT_FALSE(std::get<StatusArguments>(json).drift);
  const CommandLine drift = parse_command_line({"status", "a.yaml", "--drift"});
  ASSERT_NE(std::get_if<StatusArguments>(&drift), nullptr);
  EXPECT_TRUE(std::get<StatusArguments>(drift).drift);
  const CommandLine schema = parse_command_line({"describe", "s3-source", "--format", "json-schema"});
  ASSERT_NE(std::get_if<DescribeArguments>(&schema), nullptr);
  EXPECT_EQ(std::get<DescribeArguments>(schema).component, "s3-source");
  EXPECT_EQ(std::get<DescribeArguments>(schema).format, DescribeFormat::json_schema);
  const CommandLine all = parse_command_line({"describe"});
  ASSERT_NE(std::get_if<DescribeArguments>(&all), nullptr);
}

TEST(CommandLine, BadUsageNamesTheWayOut) {
  EXPECT_EQ(usage_error({"run"}),
            "millrace run: name a pipeline FILE, or give --from URL and --to URL\nTry 'millrace run --help'.\n");
  EXPECT_EQ(usage_error({"run", "p.yaml", "--from", "file:///in/"}),
            "millrace run: give a FILE, or --from and --to, not both\nTry 'millrace run --help'.\n");
  EXPECT_NE(usage_error({"run", "--from", "file:///in/"}).find("--from needs --to URL as well"), std::string::npos);
  EXPECT_NE(usage_error({"run", "--to", "-"}).find("--to needs --from URL as well"), std::string::npos);
  EXPECT_EQ(usage_error({"run", "p.yaml", "--progres", "json"}),
            "millrace run: unknown option '--progres'; did you mean '--progress'?\nTry 'millrace run --help'.\n");
  EXPECT_EQ(usage_error({"run", "p.yaml", "--nothing-like-it"}),
            "millrace run: unknown option '--nothing-like-it'\nTry 'millrace run --help'.\n");
  EXPECT_NE(usage_error({"run", "p.yaml", "extra.yaml"}).find("unknown argument 'extra.yaml'"), std::string::npos);
  EXPECT_NE(usage_error({"run", "p.yaml", "--progress", "plan"})
                .find("'plan' is none of auto, plain, json, none; did you mean 'plain'?"),
            std::string::npos)
      << usage_error({"run", "p.yaml", "--progress", "plan"});
  EXPECT_NE(usage_error({"run", "p.yaml", "--reset", "--expect-resume"}).find("contradict"), std::string::npos);
  EXPECT_NE(usage_error({"run", "p.yaml", "--reset", "--retry-quarantined"}).find("contradict"), std::string::npos);
  EXPECT_EQ(usage_error({"rnu", "p.yaml"}),
            "millrace: unknown command 'rnu'; did you mean 'run'?\nTry 'millrace --help'.\n");
  EXPECT_NE(usage_error({"validate"}).find("millrace validate: "), std::string::npos);
  EXPECT_NE(usage_error({"status"}).find("name a pipeline FILE"), std::string::npos);
  EXPECT_NE(usage_error({}).find("Usage:"), std::string::npos);
}

TEST(CommandLine, Version) {
  EXPECT_EQ(shown({"--version"}), "millrace " MILLRACE_VERSION "\n");
  EXPECT_EQ(shown({"version"}), shown({"--version"}));
}

TEST(CommandLine, HelpIsACommandToo) {
  EXPECT_EQ(shown({"help"}), shown({"--help"}));
  EXPECT_EQ(shown({"help", "run"}), shown({"run", "--help"}));
  EXPECT_NE(usage_error({"help", "rnu"}).find("did you mean 'run'?"), std::string::npos);
}

/// The lines of a help text between a heading and the next empty line.
std::vector<std::string> lines_under(const std::string& help, const std::string& heading) {
  std::vector<std::string> lines;
  std::istringstream stream(help);
  bool inside = false;
  for (std::string line; std::getline(stream, line);) {
    if (line == heading) {
      inside = true;
    } else if (inside && line.empty()) {
      break;
    } else if (inside) {
      lines.push_back(line.substr(2));
    }
  }
  return lines;
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

class HelpOf : public testing::TestWithParam<const char*> {};

TEST_P(HelpOf, SaysWhatItIsForAndItsExamplesAreUnderstood) {
  const std::string command = GetParam();
  std::vector<std::string> arguments;
  if (command != "millrace") arguments.push_back(command);
  arguments.emplace_back("--help");
  const std::string help = shown(arguments);
  EXPECT_EQ(help.substr(0, help.find('\n')), help_of(command).purpose) << help;
  EXPECT_FALSE(lines_under(help, "Usage:").empty()) << help;
  const std::vector<std::string> examples = lines_under(help, "Examples:");
  EXPECT_GE(examples.size(), 2U) << help;
  for (const std::string& example : examples) {
    std::vector<std::string> words = words_of(example);
    ASSERT_EQ(words.at(0), "millrace");
    words.erase(words.begin());
    EXPECT_EQ(usage_error(words), "accepted") << example;
  }
  for (std::size_t begin = 0; begin < help.size();) {
    const std::size_t end = std::min(help.find('\n', begin), help.size());
    EXPECT_LE(end - begin, 120U) << help.substr(begin, end - begin);
    begin = end + 1;
  }
  arguments.back() = "-h";
  EXPECT_EQ(shown(arguments), help);
}

INSTANTIATE_TEST_SUITE_P(Commands, HelpOf,
                         testing::Values("millrace", "run", "plan", "explain", "validate", "status", "verify",
                                         "describe"));

// Each form that the options allow stands under Usage.
TEST(Help, WhoTakesFromAndToSaysSo) {
  for (const char* command : {"run", "plan", "explain", "validate", "status", "verify", "describe"}) {
    const std::string help = shown({command, "--help"});
    const std::size_t forms = lines_under(help, "Usage:").size();
    EXPECT_EQ(help.find("--from URL --to URL") != std::string::npos, help.find("\n  --from URL") != std::string::npos)
        << help;
    EXPECT_EQ(forms, help.find("\n  --from URL") != std::string::npos ? 2U : 1U) << help;
  }
}

TEST(Help, RunGroupsItsOptions) {
  const std::string help = shown({"run", "--help"});
  for (const char* part :
       {"\nPipeline:\n", "\nPosition:\n", "\nOutput:\n", "--set PATH=VALUE", "--progress auto|plain|json|none"}) {
    EXPECT_NE(help.find(part), std::string::npos) << part << "\n" << help;
  }
  EXPECT_EQ(shown({"--help"}).find("completion"), std::string::npos);  // only what this version has
}

}  // namespace
}  // namespace millrace::cli
