// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "millrace/config/describe.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;

Json whole_if_it_is(double value) {
  const auto whole = static_cast<std::int64_t>(value);
  return static_cast<double>(whole) == value ? Json(whole) : Json(value);
}

void add_limits(const OptionDescription& option, Json& schema) {
  if (option.min) schema["minimum"] = whole_if_it_is(*option.min);
  if (option.max) schema["maximum"] = whole_if_it_is(*option.max);
}

/// A value that is no text may still be written as a variable.
Json or_variable(Json schema) { return {{"anyOf", {std::move(schema), {{"$ref", "#/$defs/variable"}}}}}; }

Json object_schema(const std::vector<OptionDescription>& options);

/// Exactly one of the keys.
Json one_of_schema(const std::vector<OptionDescription>& options) {
  Json schema = object_schema(options);
  schema["minProperties"] = 1;
  schema["maxProperties"] = 1;
  return schema;
}

/// Names with dots between them, or a list of names.
Json path_schema() { return {{"anyOf", {{{"type", "string"}}, {{"type", "array"}, {"items", {{"type", "string"}}}}}}}; }

Json value_schema(const OptionDescription& option) {
  if (option.any_form) return Json::object();
  if (option.type == "section") return object_schema(option.nested);
  if (option.type == "one section") return one_of_schema(option.nested);
  if (option.type == "one section or word") {
    return {{"anyOf", {one_of_schema(option.nested), {{"type", "string"}}}}};
  }
  if (option.type == "section or text") return {{"anyOf", {object_schema(option.nested), {{"type", "string"}}}}};
  if (option.type == "list of sections") return {{"type", "array"}, {"items", object_schema(option.nested)}};
  if (option.type == "list of one-key sections") return {{"type", "array"}, {"items", one_of_schema(option.nested)}};
  if (option.type == "path") return path_schema();
  if (option.type == "list of paths") return {{"type", "array"}, {"items", path_schema()}};
  if (option.type == "two numbers") {
    return {{"type", "array"}, {"items", {{"type", "number"}}}, {"minItems", 2}, {"maxItems", 2}};
  }
  if (option.type == "any value") return Json::object();
  if (option.type == "boolean") return or_variable({{"type", "boolean"}});
  if (option.type == "integer" || option.type == "number") {
    Json schema{{"type", option.type}};
    add_limits(option, schema);
    return or_variable(std::move(schema));
  }
  if (option.type == "bytes") {
    Json number{{"type", "integer"}, {"minimum", 0}};
    add_limits(option, number);
    return or_variable(
        {{"anyOf", {std::move(number), {{"type", "string"}, {"pattern", "^[0-9]+([KMGT]iB|[kKMGT]B|B)?$"}}}}});
  }
  if (option.type == "duration") {
    return or_variable({{"type", "string"},
                        {"pattern", "^([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?([0-9]+us)?([0-9]+ns)?$"},
                        {"minLength", 2}});
  }
  if (option.type == "list") return {{"type", "array"}, {"items", {{"type", "string"}}}};
  if (option.type == "map") {
    return {{"type", "object"}, {"additionalProperties", {{"type", {"string", "number", "boolean"}}}}};
  }
  if (!option.choices.empty()) return or_variable({{"enum", option.choices}});
  return {{"type", {"string", "number", "boolean"}}};
}

Json described(const OptionDescription& option) {
  Json schema = value_schema(option);
  std::string text = option.meaning;
  if (!option.range.empty()) text += " Range: " + option.range + ".";
  if (!option.default_text.empty()) text += " Default: " + option.default_text + ".";
  schema["description"] = std::move(text);
  if (!option.example.empty()) schema["examples"] = {option.example};
  if (option.secret) schema["writeOnly"] = true;
  return schema;
}

Json object_schema(const std::vector<OptionDescription>& options) {
  Json properties = Json::object();
  Json required = Json::array();
  Json rules = Json::array();
  for (const OptionDescription& option : options) {
    properties[option.name] = described(option);
    for (const std::string& alias : option.aliases) properties[alias] = properties[option.name];
    if (!option.required) continue;
    if (option.aliases.empty()) {
      required.push_back(option.name);
      continue;
    }
    Json any = Json::array({{{"required", {option.name}}}});
    for (const std::string& alias : option.aliases) any.push_back({{"required", {alias}}});
    rules.push_back({{"anyOf", std::move(any)}});
  }
  Json schema{{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
  if (!required.empty()) schema["required"] = std::move(required);
  if (!rules.empty()) schema["allOf"] = std::move(rules);
  return schema;
}

}  // namespace

std::string describe_json_schema(const ComponentDescription& component) {
  Json schema{{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", component.name}};
  schema["description"] = component.summary;
  schema.update(object_schema(component.options));
  schema["$defs"]["variable"] = {{"type", "string"}, {"pattern", R"(\$\{[A-Za-z_][A-Za-z0-9_]*(:[-?][^}]*)?\})"}};
  return schema.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace millrace
