// SPDX-License-Identifier: Apache-2.0
// Database: what a test asks the PostgreSQL server of MILLRACE_TEST_POSTGRES by itself, beside the sink that it tries.
#pragma once

#include <libpq-fe.h>

#include <unistd.h>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace millrace::tutorial {

/// One thread.
class Database {
 public:
  Database() : connection_(PQconnectdb(url().c_str()), &PQfinish) {
    PQsetNoticeReceiver(connection_.get(), [](void*, const PGresult*) {}, nullptr);
  }

  /// Fails by exception where the server is not told of: ./dev test starts one.
  static std::string url() {
    const char* const url = std::getenv("MILLRACE_TEST_POSTGRES");
    if (url == nullptr) throw std::runtime_error("MILLRACE_TEST_POSTGRES names no server; ./dev test starts one");
    return url;
  }

  /// The first column of what a statement gives.
  std::vector<std::string> run(const std::string& sql) {
    const std::unique_ptr<PGresult, decltype(&PQclear)> answer(PQexec(connection_.get(), sql.c_str()), &PQclear);
    const ExecStatusType status = PQresultStatus(answer.get());
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
      throw std::runtime_error(sql + ": " + PQerrorMessage(connection_.get()));
    }
    std::vector<std::string> column;
    for (int row = 0; row < PQntuples(answer.get()); ++row) column.emplace_back(PQgetvalue(answer.get(), row, 0));
    return column;
  }

  /// A name that no other test has, of this process or another.
  static std::string fresh_name() {
    static int count = 0;
    return "t" + std::to_string(::getpid()) + "_" + std::to_string(++count);
  }

 private:
  const std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
};

}  // namespace millrace::tutorial
