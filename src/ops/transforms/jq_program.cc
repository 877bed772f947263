// SPDX-License-Identifier: Apache-2.0
#include "ops/transforms/jq_program.h"

#include <fmt/format.h>

extern "C" {
#include <jq.h>
#include <jv.h>
}

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "millrace/base/printable.h"
#include "ops/transforms/jq_words.h"

namespace millrace::transforms {
namespace {

// Put in front of a program: to jq before 1.7 an error that is null is as good as `empty`, and would drop a record
// without a word.
constexpr std::string_view kErrors =
    "def error(m): m | if . == null then \"null (null) not a string\" else . end | error; def error: error(.); ";

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

/// libjq reads ~/.jq with each program, and cannot be told to leave it.
Result<void> check_no_definitions() {
  const char* const home = std::getenv("HOME");  // NOLINT(concurrency-mt-unsafe): libjq reads it likewise
  if (home == nullptr) return {};
  const std::string file = std::string(home) + "/.jq";
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored)) return {};
  return fail(Error::config(fmt::format(
      "jq: libjq would put the definitions of {} in front of the program, and a pipeline file says all that it does; "
      "move that file away, or run with a HOME that has none, and write what the program needs of it (def name: ...;) "
      "into the program",
      printable(file, 200))));
}

}  // namespace

struct JqProgram::State {
  jq_state* jq = nullptr;
  std::string messages;
  std::uint64_t max_outputs = 0;
  RecordTotals totals;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (jq != nullptr) jq_teardown(&jq);
  }
  /// Lets go of what it holds of a document.
  void release() {
    const bool halted = jq_halted(jq) != 0;
    jq_start(jq, jv_null(), 0);
    // With what a program halts jq 1.6 frees, and keeps hold of it, so that it would be freed at each later start.
    if (halted) jq_halt(jq, jv_null(), jv_null());
  }
};

JqProgram::JqProgram(std::unique_ptr<State> state) : state_(std::move(state)) {}
JqProgram::JqProgram(JqProgram&&) noexcept = default;
JqProgram& JqProgram::operator=(JqProgram&&) noexcept = default;
JqProgram::~JqProgram() = default;

bool JqProgram::built_in() noexcept { return true; }

Result<JqProgram> JqProgram::make(const ops::JqFilter& spec) {
  if (spec.program.find('\0') != std::string::npos) return fail(Error::config("jq: the program holds a null byte"));
  if (spec.max_outputs == 0) return fail(Error::config("jq: max_outputs is 0, and a program gives out something"));
  MILLRACE_TRY(check_jq_words(spec.program));
  MILLRACE_TRY(check_no_definitions());
  auto state = std::make_unique<State>();
  state->max_outputs = spec.max_outputs;
  state->jq = jq_init();
  if (state->jq == nullptr) return fail(Error::fatal(ErrorCode::internal, "jq: cannot be set up: no memory"));
  jq_set_error_cb(state->jq, note, &state->messages);
  // Not set by jq_init, and jumped to where a program asks for them.
  jq_set_input_cb(state->jq, nullptr, nullptr);
  jq_set_debug_cb(state->jq, nullptr, nullptr);
  if (jq_compile(state->jq, (std::string(kErrors) + spec.program).c_str()) == 0) {
    for (std::size_t at = 0; (at = state->messages.find(kErrors, at)) != std::string::npos;) {
      state->messages.erase(at, kErrors.size());
    }
    return fail(Error::config(fmt::format("jq: {}", printable(state->messages, 600))));
  }
  state->messages.clear();
  return JqProgram(std::move(state));
}

bool JqProgram::run(std::string_view document, RunContext& context, ByteBuffer& out, std::vector<std::size_t>& ends) {
  const auto refuse = [&](ErrorCode code, std::string why) {
    state_->release();
    context.failure = Error::record(code, std::move(why));
    return false;
  };
  if (document.size() > static_cast<std::size_t>(INT32_MAX)) {
    return refuse(ErrorCode::too_large, "jq takes no document of more than 2 GiB");
  }
  RecordTotals& totals = state_->totals;
  totals.take(context, document.size());
  const std::uint64_t most_bytes = most(totals.given);
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
        return refuse(ErrorCode::not_supported,
                      "the jq program halts, which would end all of the run; write error(\"why\") for a bad record, "
                      "or empty to leave it out");
      }
      if (output.says_why()) return refuse(ErrorCode::malformed, "jq: " + printable(reason_of(output), 400));
      return true;
    }
    if (++totals.outputs > state_->max_outputs) {
      return refuse(ErrorCode::too_large,
                    fmt::format("the jq program gives out more than {} documents for this record; give out fewer, or "
                                "raise max_outputs: jq: {{program: ..., max_outputs: {}}}",
                                state_->max_outputs, bounded_product(2, state_->max_outputs)));
    }
    const Value text(jv_dump_string(output.copy(), 0));
    const jv copy = text.copy();
    const auto size = static_cast<std::size_t>(jv_string_length_bytes(jv_copy(copy)));
    totals.made += size;
    const bool fits = totals.made <= most_bytes;
    if (fits) out.append({jv_string_value(copy), size});
    jv_free(copy);
    ends.push_back(out.size());
    if (!fits) {
      return refuse(ErrorCode::too_large,
                    fmt::format("what the jq program gives out for this record is more than {} bytes", most_bytes));
    }
  }
}

}  // namespace millrace::transforms
