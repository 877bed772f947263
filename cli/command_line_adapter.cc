// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>
#include <algorithm>
#include <map>

#include "cli/command_line.h"
#include "cli/help_text.h"
#include "millrace/config/config.h"
#include "millrace/version.h"

namespace millrace::cli {
namespace {

/// CLI11's layout with the usage lines and examples of help_text.h.
class HelpFormatter final : public CLI::Formatter {
 public:
  HelpFormatter() {
    column_width(34);
    label("TEXT", "");
    label("REQUIRED", "");
  }
  std::string make_usage(const CLI::App* app, std::string) const override {
    std::string text = "\nUsage:\n";
    for (const std::string_view line : help_of(app->get_name()).usage) text += fmt::format("  {}\n", line);
    return text;
  }
  std::string make_footer(const CLI::App* app) const override {
    std::string text = "\nExamples:\n";
    for (const std::string_view line : help_of(app->get_name()).examples) text += fmt::format("  {}\n", line);
    return text + std::string(help_of(app->get_name()).footer);
  }
  std::string make_description(const CLI::App* app) const override {
    return fmt::format("{}\n", help_of(app->get_name()).purpose);
  }
  // A subcommand's own help stands under its own name.
  std::string make_expanded(const CLI::App*) const override { return {}; }
};

CLI::Option* choice(CLI::App& app, const std::string& name, std::string& value, std::vector<std::string> choices,
                    const std::string& meaning) {
  const std::string all = fmt::format("{}", fmt::join(choices, "|"));
  return app.add_option(name, value, meaning)
      ->type_name(all)
      ->check(CLI::Validator(
          [choices](const std::string& given) {
            if (std::ranges::find(choices, given) != choices.end()) return std::string();
            const auto near = nearest_name(given, choices);
            return fmt::format("'{}' is none of {}{}", given, fmt::join(choices, ", "),
                               near ? fmt::format("; did you mean '{}'?", *near) : "");
          },
          "", "choice"));
}

void add_input(CLI::App& app, InputArguments& input) {
  app.add_option("FILE", input.file, "The pipeline's YAML file")->type_name("")->group("Pipeline");
  app.add_option("--from", input.from, "Read the records under this URL, in place of a file")
      ->type_name("URL")
      ->group("Pipeline");
  app.add_option("--to", input.to, "Write them, byte for byte, one a line, below this URL; '-' is stdout")
      ->type_name("URL")
      ->group("Pipeline");
  app.add_option("--set", input.set, "Change one key of the configuration; may be repeated")
      ->type_name("PATH=VALUE")
      ->take_all()
      ->allow_extra_args(false)
      ->group("Pipeline");
}

/// What CLI11 writes the strings of choices to, before they become values.
struct Words {
  std::string progress = "auto";
  std::string log_format;
  std::string log_level;
  std::string plan_format = "text";
  std::string explain_format = "text";
  std::string status_format = "text";
  std::string verify_format = "text";
  std::string describe_format = "text";
};

void add_run(CLI::App& app, RunArguments& run, Words& words) {
  add_input(app, run.input);
  app.add_flag("--print-config", run.print_config, "Print the YAML that would be run, and do nothing")
      ->group("Pipeline");
  app.add_flag("--reset", run.reset, "Forget the kept position and begin anew; asks on a terminal")->group("Position");
  app.add_flag("--yes", run.yes, "Answer yes to what --reset asks")->group("Position");
  app.add_flag("--expect-resume", run.expect_resume, "Fail when there is no kept position")->group("Position");
  app.add_flag("--take-over", run.take_over, "Take the position from another process without waiting for its end")
      ->group("Position");
  app.add_flag("--retry-quarantined", run.retry_quarantined,
               "Read only the objects that an earlier run set aside, once they are mended")
      ->group("Position");
  app.add_flag("--fail-on-skipped", run.fail_on_skipped, "End with 4 when a record or an object was skipped")
      ->group("Result");
  choice(app, "--progress", words.progress, {"auto", "plain", "json", "none"},
         "A block on a terminal, a line each 10 s, JSON each second, or nothing")
      ->group("Output");
  app.add_flag("-v,--verbose", run.verbose, "Progress of each lane too")->group("Output");
  choice(app, "--log-level", words.log_level, {"debug", "info", "warn", "error", "off"},
         "In place of log.level of the file")
      ->group("Output");
  choice(app, "--log-format", words.log_format, {"text", "json"}, "In place of log.format of the file")
      ->group("Output");
}

/// Why the input is none; empty when it is one.
std::string input_problem(const InputArguments& input) {
  const bool pair = !input.from.empty() || !input.to.empty();
  if (!input.file.empty() && pair) return "give a FILE, or --from and --to, not both";
  if (!input.file.empty()) return {};
  if (!pair) return "name a pipeline FILE, or give --from URL and --to URL";
  if (input.from.empty()) return "--to needs --from URL as well";
  if (input.to.empty()) return "--from needs --to URL as well";
  return {};
}

LogLevel level_of(const std::string& word) {
  static const std::map<std::string, LogLevel> levels{{"debug", LogLevel::debug},
                                                      {"info", LogLevel::info},
                                                      {"warn", LogLevel::warn},
                                                      {"error", LogLevel::error},
                                                      {"off", LogLevel::off}};
  return levels.at(word);
}

UsageError usage(const std::string& command, const std::string& text) {
  const std::string name = command.empty() ? "millrace" : "millrace " + command;
  return {fmt::format("{}: {}\nTry '{} --help'.\n", name, text, name)};
}

/// One empty line between groups, not two.
std::string help_text(const CLI::App& app) {
  std::string text = app.help();
  for (std::size_t at = text.find("\n\n\n"); at != std::string::npos; at = text.find("\n\n\n", at)) text.erase(at, 1);
  return text;
}

/// CLI11's words for an argument that nobody takes, with the nearest that exists.
std::string unexpected(const CLI::App& app) {
  const std::vector<std::string> rest = app.remaining(true);
  if (rest.empty()) return "an argument is not understood";
  const std::string& given = rest.front();
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  }
  if (!given.starts_with("-")) {
    known.clear();
    for (const CLI::App* sub : app.get_subcommands({})) known.push_back(sub->get_name());
  }
  const auto near = nearest_name(given.substr(0, given.find('=')), known);
  const std::string_view what = given.starts_with("-") ? "option" : known.empty() ? "argument" : "command";
  return fmt::format("unknown {} '{}'{}", what, given, near ? fmt::format("; did you mean '{}'?", *near) : "");
}

/// `help`, `help COMMAND` and `version` are said by many for what are options here.
std::vector<std::string> as_options(const CLI::App& app, std::vector<std::string> arguments) {
  if (arguments.empty() || (arguments[0] != "help" && arguments[0] != "version")) return arguments;
  const std::string option = "--" + arguments[0];
  arguments.erase(arguments.begin());
  // Help for what is no command would be the general one; the word alone is refused, with the nearest.
  const auto is_asked = [&](const CLI::App* command) { return command->get_name() == arguments[0]; };
  if (!arguments.empty() && app.get_subcommands(is_asked).empty()) return arguments;
  arguments.push_back(option);
  return arguments;
}

}  // namespace

CommandLine parse_command_line(const std::vector<std::string>& arguments) {
  CLI::App app("", "millrace");
  app.formatter(std::make_shared<HelpFormatter>());
  bool version = false;
  app.add_flag("--version", version, "Print the version")->group("Other");

  RunArguments run;
  ValidateArguments validate;
  PlanArguments plan;
  ExplainArguments explain;
  StatusArguments status;
  VerifyArguments verify;
  DescribeArguments describe;
  ImportArguments import;
  Words words;
  const auto add_command = [&](const char* name) {
    CLI::App* command = app.add_subcommand(name, std::string(help_of(name).purpose));
    command->group("Commands");
    return command;
  };
  add_run(*add_command("run"), run, words);
  CLI::App* plan_app = add_command("plan");
  add_input(*plan_app, plan.input);
  plan_app->add_flag("--sniff", plan.sniff, "Read the first bytes of a few objects, to tell what they hold")
      ->group("Input");
  choice(*plan_app, "--format", words.plan_format, {"text", "json"}, "How it is printed")->group("Output");
  CLI::App* explain_app = add_command("explain");
  add_input(*explain_app, explain.input);
  explain_app->add_option("--records", explain.records, "Tell the keys of these records, one a line; '-' reads stdin")
      ->type_name("FILE")
      ->group("Input");
  choice(*explain_app, "--format", words.explain_format, {"text", "json"}, "How it is printed")->group("Output");
  add_command("validate")
      ->add_option("FILE", validate.files, "Pipeline files")
      ->type_name("")
      ->required()
      ->group("Pipeline");
  CLI::App* status_app = add_command("status");
  add_input(*status_app, status.input);
  choice(*status_app, "--format", words.status_format, {"text", "json"}, "How it is printed")->group("Output");
  status_app
      ->add_flag("--drift", status.drift, "List again, and print what has changed since the first run as JSON lines")
      ->group("Output");
  CLI::App* verify_app = add_command("verify");
  add_input(*verify_app, verify.input);
  choice(*verify_app, "--format", words.verify_format, {"text", "json"}, "How it is printed")->group("Output");
  CLI::App* describe_app = add_command("describe");
  describe_app->add_option("COMPONENT", describe.component, "What to describe; without it, everything there is")
      ->type_name("")
      ->group("Component");
  choice(*describe_app, "--format", words.describe_format, {"text", "markdown", "json-schema"}, "How it is printed")
      ->group("Output");

  CLI::App* import_app = add_command("import");
  choice(*import_app, "FROM", import.from, {"iggy"}, "Whose file it is")->required()->group("Input");
  import_app->add_option("FILE", import.file, "The connector's TOML file")->type_name("")->required()->group("Input");
  import_app->add_option("--runtime", import.runtime, "The runtime's own TOML file, which says where the server is")
      ->type_name("FILE")
      ->group("Input");
  import_app->add_option("--stream", import.stream, "Which of several streams to read")
      ->type_name("NAME")
      ->group("Input");
  import_app->add_flag("--compat", import.compat, "End, name and overwrite files as Iggy's sink does")->group("Output");

  // Last, so that it stands last in the help.
  app.set_help_flag("-h,--help", "Print this help")->group("Other");
  for (CLI::App* each : app.get_subcommands({})) each->set_help_flag("-h,--help", "Print this help")->group("Other");

  std::string command;
  const auto parsed_command = [&]() -> const CLI::App& {
    const auto parsed = app.get_subcommands();
    if (parsed.empty()) return app;
    command = parsed.front()->get_name();
    return *parsed.front();
  };
  try {
    const std::vector<std::string> meant = as_options(app, arguments);
    app.parse(std::vector<std::string>(meant.rbegin(), meant.rend()));
  } catch (const CLI::CallForHelp&) {
    return ShowText{help_text(parsed_command())};
  } catch (const CLI::ExtrasError&) {
    const CLI::App& at = parsed_command();
    return usage(command, unexpected(at));
  } catch (const CLI::ParseError& error) {
    static_cast<void>(parsed_command());
    return usage(command, error.what());
  }
  static_cast<void>(parsed_command());
  if (version) return ShowText{"millrace " MILLRACE_VERSION "\n"};
  if (command == "run") {
    if (std::string problem = input_problem(run.input); !problem.empty()) return usage(command, problem);
    run.progress = words.progress == "auto"    ? ProgressMode::automatic
                   : words.progress == "plain" ? ProgressMode::plain
                   : words.progress == "json"  ? ProgressMode::json
                                               : ProgressMode::none;
    if (!words.log_level.empty()) run.log_level = level_of(words.log_level);
    if (!words.log_format.empty()) run.log_format = words.log_format == "json" ? LogFormat::json : LogFormat::text;
    if (run.reset && run.expect_resume) return usage(command, "--reset and --expect-resume contradict each other");
    if (run.reset && run.retry_quarantined) {
      return usage(
          command,
          "--reset and --retry-quarantined contradict each other: what is set aside stands in the kept position");
    }
    return run;
  }
  if (command == "validate") return validate;
  if (command == "plan") {
    if (std::string problem = input_problem(plan.input); !problem.empty()) return usage(command, problem);
    plan.json = words.plan_format == "json";
    return plan;
  }
  if (command == "explain") {
    if (std::string problem = input_problem(explain.input); !problem.empty()) return usage(command, problem);
    explain.json = words.explain_format == "json";
    return explain;
  }
  if (command == "status") {
    if (std::string problem = input_problem(status.input); !problem.empty()) return usage(command, problem);
    status.json = words.status_format == "json";
    return status;
  }
  if (command == "verify") {
    if (std::string problem = input_problem(verify.input); !problem.empty()) return usage(command, problem);
    verify.json = words.verify_format == "json";
    return verify;
  }
  if (command == "describe") {
    describe.format = words.describe_format == "markdown"      ? DescribeFormat::markdown
                      : words.describe_format == "json-schema" ? DescribeFormat::json_schema
                                                               : DescribeFormat::text;
    return describe;
  }
  if (command == "import") return import;
  return UsageError{help_text(app)};
}

}  // namespace millrace::cli
