// SPDX-License-Identifier: Apache-2.0
#include "ops/transforms/jq_program.h"

#include <fmt/format.h>

extern "C" {
#include <jq.h>
#include <jv.h>
}

#include <cstdlib>
#include <utility>

#include "millrace/base/printable.h"

namespace millrace::transforms {
namespace {

/// One value of jq's, which is freed once.
class Value {
 public:
  explicit Value(jv value) : value_(value) {}
  Value(const Value&) = delete;
  Value& operator=(const Value&) = delete;
  ~Value() { jv_free(value_); }
  [[nodiscard]] jv copy() const { return jv_copy(value_); }
  [[nodiscard]] bool valid() const { return jv_get_kind(value_) != JV_KIND_INVALID; }
  [[nodiscard]] bool says_why() const { return jv_invalid_has_msg(jv_copy(value_)) != 0; }

 private:
  jv value_;
};

std::string text_of_value(jv value) {
  const Value text(jv_get_kind(value) == JV_KIND_STRING ? value : jv_dump_string(value, 0));
  const jv copy = text.copy();
  std::string out(jv_string_value(copy), static_cast<std::size_t>(jv_string_length_bytes(jv_copy(copy))));
  jv_free(copy);
  return out;
}

std::string reason_of(const Value& invalid) { return text_of_value(jv_invalid_get_msg(invalid.copy())); }

void note(void* messages, jv message) {
  auto& text = *static_cast<std::string*>(messages);
  if (!text.empty()) text += "; ";
  text += text_of_value(jq_format_error(message));
}

}  // namespace

struct JqProgram::State {
  jq_state* jq = nullptr;
  std::string messages;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (jq != nullptr) jq_teardown(&jq);
  }
};

JqProgram::JqProgram(std::unique_ptr<State> state) : state_(std::move(state)) {}
JqProgram::JqProgram(JqProgram&&) noexcept = default;
JqProgram& JqProgram::operator=(JqProgram&&) noexcept = default;
JqProgram::~JqProgram() = default;

bool JqProgram::built_in() noexcept { return true; }

Result<JqProgram> JqProgram::make(const std::string& program) {
  if (program.find('\0') != std::string::npos) return fail(Error::config("jq: the program holds a null byte"));
  auto state = std::make_unique<State>();
  state->jq = jq_init();
  if (state->jq == nullptr) return fail(Error::fatal(ErrorCode::internal, "jq: cannot be set up: no memory"));
  jq_set_error_cb(state->jq, note, &state->messages);
  if (jq_compile(state->jq, program.c_str()) == 0) {
    return fail(Error::config(fmt::format("jq: {}", printable(state->messages, 600))));
  }
  state->messages.clear();
  return JqProgram(std::move(state));
}

bool JqProgram::run(std::string_view document, RunContext& context, ByteBuffer& out, std::vector<std::size_t>& ends) {
  const auto refuse = [&](ErrorCode code, std::string why) {
    jq_start(state_->jq, jv_null(), 0);  // lets go of what it holds
    context.failure = Error::record(code, std::move(why));
    return false;
  };
  if (document.size() > static_cast<std::size_t>(INT32_MAX)) {
    return refuse(ErrorCode::too_large, "jq takes no document of more than 2 GiB");
  }
  const std::size_t begin = out.size();
  const std::uint64_t most_bytes = most(document.size());
  {
    // Held by jq alone, so that what a program changes is changed in place.
    const jv input = jv_parse_sized(document.data(), static_cast<int>(document.size()));
    if (jv_get_kind(input) == JV_KIND_INVALID) {
      const Value invalid(input);
      return refuse(ErrorCode::malformed, "jq cannot read the document: " + printable(reason_of(invalid), 400));
    }
    jq_start(state_->jq, input, 0);
  }
  while (true) {
    const Value output(jq_next(state_->jq));
    if (!output.valid()) {
      if (jq_halted(state_->jq) != 0) {
        return refuse(ErrorCode::not_supported, "the jq program halts, which ends jq and not a record");
      }
      if (output.says_why()) return refuse(ErrorCode::malformed, "jq: " + printable(reason_of(output), 400));
      return true;
    }
    const Value text(jv_dump_string(output.copy(), 0));
    const jv copy = text.copy();
    const auto size = static_cast<std::size_t>(jv_string_length_bytes(jv_copy(copy)));
    const bool fits = out.size() - begin + size <= most_bytes;
    if (fits) out.append({jv_string_value(copy), size});
    jv_free(copy);
    ends.push_back(out.size());
    // An output of no bytes there is none, so the number of outputs is bounded too.
    if (!fits) {
      return refuse(ErrorCode::too_large,
                    fmt::format("what the jq program gives out for this record is more than {} bytes", most_bytes));
    }
  }
}

}  // namespace millrace::transforms
