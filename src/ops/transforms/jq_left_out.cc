// SPDX-License-Identifier: Apache-2.0
// In place of jq_program.cc where libjq was not found.
#include "ops/transforms/jq_program.h"

namespace millrace::transforms {

struct JqProgram::State {};

JqProgram::JqProgram(std::unique_ptr<State> state) : state_(std::move(state)) {}
JqProgram::JqProgram(JqProgram&&) noexcept = default;
JqProgram& JqProgram::operator=(JqProgram&&) noexcept = default;
JqProgram::~JqProgram() = default;

bool JqProgram::built_in() noexcept { return false; }

Result<JqProgram> JqProgram::make(const ops::JqFilter& /*spec*/) {
  return fail(
      Error::config("jq: this build has none: libjq was not found when it was made. Install libjq with its headers and "
                    "build again, or say it with the other transforms"));
}

bool JqProgram::run(std::string_view /*document*/, RunContext& context, ByteBuffer& /*out*/,
                    std::vector<std::size_t>& /*ends*/) {
  context.failure = Error::record(ErrorCode::not_supported, "this build has no jq");
  return false;
}

}  // namespace millrace::transforms
