// SPDX-License-Identifier: Apache-2.0
#include "session.h"

#include <libpq-fe.h>

#include <algorithm>
#include <charconv>
#include <utility>

using millrace::Error;
using millrace::ErrorClass;
using millrace::ErrorCode;
using millrace::fail;
using millrace::MutexLock;
using millrace::Result;

namespace {

std::string without_line_feed(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  return std::string(text);
}

// By SQLSTATE, as https://www.postgresql.org/docs/current/errcodes-appendix.html lists them; none: the connection
// broke.
std::pair<ErrorClass, ErrorCode> class_of(std::string_view state) {
  const std::string_view kind = state.substr(0, 2);
  if (state.empty() || kind == "08") return {ErrorClass::retryable, ErrorCode::unreachable};
  if (state == "57014") return {ErrorClass::retryable, ErrorCode::cancelled};  // by us, or by a timeout of the server's
  if (state == "53100") return {ErrorClass::retryable, ErrorCode::out_of_space};
  if (kind == "53" || kind == "57") return {ErrorClass::retryable, ErrorCode::unavailable};  // full, or going down
  if (kind == "40" || kind == "55") return {ErrorClass::retryable, ErrorCode::unavailable};  // deadlock, locked
  if (kind == "22" || kind == "23") return {ErrorClass::fatal, ErrorCode::malformed};        // the rows do not fit
  if (kind == "28") return {ErrorClass::fatal, ErrorCode::credentials};
  if (state == "42501") return {ErrorClass::fatal, ErrorCode::permission_denied};
  if (kind == "42" || kind == "3D") return {ErrorClass::fatal, ErrorCode::not_found};
  return {ErrorClass::fatal, ErrorCode::bad_response};
}

}  // namespace

void Session::Finish::operator()(pg_conn* connection) const { PQfinish(connection); }
void Session::Free::operator()(pg_cancel* cancel) const { PQfreeCancel(cancel); }
void Session::Free::operator()(pg_result* result) const { PQclear(result); }

Session::Session() = default;
Session::~Session() = default;

Error Session::failure(const pg_result* answer) const {
  const char* state = answer != nullptr ? PQresultErrorField(answer, PG_DIAG_SQLSTATE) : nullptr;
  const auto [cls, code] = class_of(state != nullptr ? state : "");
  return {cls, code,
          without_line_feed(answer != nullptr ? PQresultErrorMessage(answer) : PQerrorMessage(connection_.get()))};
}

Result<void> Session::connect(const std::string& connection) {
  if (connection_) return {};
  // What stands behind wins: an address may bring a connect_timeout of its own, and no other encoding.
  const char* const names[] = {"connect_timeout", "fallback_application_name", "dbname", "client_encoding", nullptr};
  const char* const values[] = {"10", "millrace", connection.c_str(), "UTF8", nullptr};
  connection_.reset(PQconnectdbParams(names, values, 1));
  if (PQstatus(connection_.get()) != CONNECTION_OK) {
    Error error = failure(nullptr);
    disconnect();
    return fail(std::move(error));
  }
  PQsetNoticeReceiver(connection_.get(), [](void*, const PGresult*) {}, nullptr);
  {
    const MutexLock lock(mutex_);
    cancel_.reset(PQgetCancel(connection_.get()));
  }
  // A commit must be on disk when it is answered, whatever is usual for this user or database.
  auto durable =
      run("SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'");
  if (durable) return {};
  disconnect();
  return fail(std::move(durable).error());
}

void Session::disconnect() {
  const MutexLock lock(mutex_);
  cancel_.reset();
  connection_.reset();
}

Result<Session::Rows> Session::run(const std::string& sql, std::initializer_list<std::string> values) {
  std::vector<const char*> texts;
  for (const std::string& value : values) texts.push_back(value.c_str());
  const Answer answer(PQexecParams(connection_.get(), sql.c_str(), static_cast<int>(texts.size()), nullptr,
                                   texts.data(), nullptr, nullptr, 0));
  const ExecStatusType status = PQresultStatus(answer.get());
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) return fail(failure(answer.get()));
  Rows found;
  for (int row = 0; row < PQntuples(answer.get()); ++row) {
    std::vector<std::string>& columns = found.rows.emplace_back();
    for (int column = 0; column < PQnfields(answer.get()); ++column) {
      columns.emplace_back(PQgetvalue(answer.get(), row, column));
    }
  }
  const std::string_view changed = PQcmdTuples(answer.get());
  std::from_chars(changed.data(), changed.data() + changed.size(), found.changed);
  return found;
}

Result<void> Session::copy(const std::string& sql, std::string_view bytes) {
  constexpr std::size_t kPiece = 1U << 20U;  // libpq keeps a copy of what it has not sent
  {
    const Answer begun(PQexec(connection_.get(), sql.c_str()));
    if (PQresultStatus(begun.get()) != PGRES_COPY_IN) return fail(failure(begun.get()));
  }
  for (; !bytes.empty(); bytes.remove_prefix(std::min(kPiece, bytes.size()))) {
    const int size = static_cast<int>(std::min(kPiece, bytes.size()));
    if (PQputCopyData(connection_.get(), bytes.data(), size) != 1) return fail(failure(nullptr));
  }
  if (PQputCopyEnd(connection_.get(), nullptr) != 1) return fail(failure(nullptr));
  return finish_copy();
}

// What the server says of the rows, up to the last word.
Result<void> Session::finish_copy() {
  Result<void> result;
  while (const Answer answer{PQgetResult(connection_.get())}) {
    if (PQresultStatus(answer.get()) != PGRES_COMMAND_OK && result) result = fail(failure(answer.get()));
  }
  return result;
}

void Session::cancel() {
  const MutexLock lock(mutex_);
  if (!cancel_) return;
  char why[256];
  PQcancel(cancel_.get(), why, sizeof why);  // where it fails the write ends by itself, or with the run
}

std::string Session::quoted(const std::string& identifier) const {
  char* const text = PQescapeIdentifier(connection_.get(), identifier.data(), identifier.size());
  std::string result(text != nullptr ? text : "");
  PQfreemem(text);
  return result;
}

std::string Session::place() const {
  return std::string(PQdb(connection_.get())) + " at " + PQhost(connection_.get()) + ":" + PQport(connection_.get());
}
