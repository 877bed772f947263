// SPDX-License-Identifier: Apache-2.0
#include "cli/left_out.h"

#include <fmt/format.h>

namespace millrace::cli {
namespace {

std::string why(const std::string& name, const std::string& library) {
  return fmt::format("{} is left out of this build of millrace: {} was not found when it was built", name, library);
}

template <class Kind, class Made>
Kind left_out(const std::string& name, const std::string& library) {
  Kind kind;
  kind.name = name;
  kind.description = {name, why(name, library) + ".", {}};
  kind.validate = [text = why(name, library)](const ConfigSection& section) -> Result<void> {
    return fail(Error::config(fmt::format("{}: {}: {}", section.key_where(), section.path(), text)));
  };
  kind.make = [text = why(name, library)](const ConfigSection&, const BuildContext&) -> Result<std::unique_ptr<Made>> {
    return fail(Error::config(text));
  };
  return kind;
}

}  // namespace

SourceKind left_out_source(const std::string& name, const std::string& library) {
  return left_out<SourceKind, Source>(name, library);
}

SinkKind left_out_sink(const std::string& name, const std::string& library) {
  return left_out<SinkKind, Sink>(name, library);
}

}  // namespace millrace::cli
