// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/pipeline_config.h"
#include "cli/store_notes.h"
#include "cli/transforms_config.h"
#include "millrace/config/describe.h"
#include "millrace/store/store_options.h"

namespace millrace::cli {
namespace {

/// The keys of the string maps called `store`.
ComponentDescription store_options() {
  ComponentDescription store{
      "store",
      "What a `store` map of the s3 connectors may hold. Names may begin with aws_, in any case, "
      "with '-' or '_'; every value is a string.",
      {}};
  for (const StoreOptions::Known& known : StoreOptions::known()) {
    OptionDescription option;
    option.name = known.name;
    option.type = known.type;
    option.default_text = known.default_text;
    option.meaning = known.meaning;
    option.secret = known.secret;
    store.options.push_back(std::move(option));
  }
  return store;
}

/// For people the file's page names the connectors; each has a page of its own.
ComponentDescription without_connectors(ComponentDescription file) {
  for (OptionDescription& option : file.options) {
    if (option.name == "transforms") {
      option.nested.clear();
      option.meaning += " Keys: millrace describe transforms.";
    }
    if (option.name != "source" && option.name != "sink" && option.name != "dead_letter") continue;
    for (OptionDescription& connector : option.nested) {
      connector.nested.clear();
      connector.meaning +=
          fmt::format(" Keys: millrace describe {}-{}.", connector.name, option.name == "source" ? "source" : "sink");
    }
  }
  return file;
}

/// Everything that has a page of its own: the file, and each connector as "<name>-source" or "<name>-sink".
std::vector<ComponentDescription> all_components(const Registry& registry, DescribeFormat format) {
  std::vector<ComponentDescription> all{format == DescribeFormat::json_schema
                                            ? describe_pipeline_file(registry)
                                            : without_connectors(describe_pipeline_file(registry))};
  const auto add = [&](ComponentDescription description, const std::string& name) {
    description.name = name;
    all.push_back(std::move(description));
  };
  for (const SourceKind& kind : registry.sources()) add(kind.description, kind.name + "-source");
  for (const SinkKind& kind : registry.sinks()) add(kind.description, kind.name + "-sink");
  all.push_back({describe_transforms().name, describe_transforms().meaning, describe_transforms().nested});
  all.push_back(store_options());
  return all;
}

std::string rendered(const ComponentDescription& component, DescribeFormat format) {
  switch (format) {
    case DescribeFormat::markdown:
      return describe_markdown(component) + std::string(component.name == "store" ? store_notes() : "") +
             fmt::format("\nThis page is what `millrace describe {} --format markdown` prints.\n", component.name);
    case DescribeFormat::json_schema:
      return describe_json_schema(component);
    case DescribeFormat::text:
      break;
  }
  return describe_text(component);
}

std::string list_of(const std::vector<ComponentDescription>& components) {
  std::string text = "Components; 'millrace describe COMPONENT' prints the keys of one.\n\n";
  for (const ComponentDescription& component : components) {
    text += describe_text({component.name, component.summary, {}});
  }
  return text;
}

}  // namespace

int describe(const DescribeArguments& arguments, const Registry& registry) {
  const std::vector<ComponentDescription> components = all_components(registry, arguments.format);
  if (arguments.component.empty()) {
    const std::string text =
        arguments.format == DescribeFormat::text ? list_of(components) : rendered(components.front(), arguments.format);
    return print(text) ? kExitCompleted : kExitFailed;
  }
  std::vector<const ComponentDescription*> found;
  std::vector<std::string> names;
  for (const ComponentDescription& component : components) {
    names.push_back(component.name);
    // "s3" means both its source and its sink.
    const std::string& name = component.name;
    if (name == arguments.component || name == arguments.component + "-source" ||
        name == arguments.component + "-sink") {
      found.push_back(&component);
    }
  }
  if (found.empty()) {
    const auto near = nearest_name(arguments.component, names);
    return report(
        Error::fatal(ErrorCode::usage, fmt::format("there is no component '{}'; {}", arguments.component,
                                                   near ? fmt::format("did you mean '{}'?", *near)
                                                        : fmt::format("there are {}", fmt::join(names, ", ")))));
  }
  if (found.size() > 1 && arguments.format == DescribeFormat::json_schema) {
    return report(Error::fatal(ErrorCode::usage, fmt::format("'{}' is {} and {}: name one of them", arguments.component,
                                                             found[0]->name, found[1]->name)));
  }
  std::string text;
  for (const ComponentDescription* component : found) {
    text += (text.empty() ? "" : "\n") + rendered(*component, arguments.format);
  }
  return print(text) ? kExitCompleted : kExitFailed;
}

}  // namespace millrace::cli
