// SPDX-License-Identifier: Apache-2.0
// Session: a connection to PostgreSQL, and the one place where its failures get their class. One thread, but for
// cancel().
#pragma once

#include <millrace/base/result.h>
#include <millrace/base/sync.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct pg_conn;    // libpq's PGconn,
struct pg_cancel;  // PGcancel,
struct pg_result;  // and PGresult

class Session {
 public:
  /// Text as the server gives it, row by row, and how many rows a command has changed.
  struct Rows {
    std::vector<std::vector<std::string>> rows;
    std::size_t changed = 0;
  };

  Session();
  ~Session();

  /// Does nothing where there is a connection.
  [[nodiscard]] millrace::Result<void> connect(const std::string& connection);
  /// The server takes back what was not committed.
  void disconnect();
  /// One statement; `values` stand for $1, $2, ...
  [[nodiscard]] millrace::Result<Rows> run(const std::string& sql, std::initializer_list<std::string> values = {});
  /// `sql` is a COPY ... FROM STDIN.
  [[nodiscard]] millrace::Result<void> copy(const std::string& sql, std::string_view bytes);
  /// What is under way fails soon. Any thread.
  void cancel();

  [[nodiscard]] std::string quoted(const std::string& identifier) const;
  /// "shop at db.example:5432", for messages. Both need a connection.
  [[nodiscard]] std::string place() const;

 private:
  struct Finish {
    void operator()(pg_conn* connection) const;
  };
  struct Free {
    void operator()(pg_cancel* cancel) const;
    void operator()(pg_result* result) const;
  };
  using Answer = std::unique_ptr<pg_result, Free>;
  [[nodiscard]] millrace::Error failure(const pg_result* answer) const;
  [[nodiscard]] millrace::Result<void> finish_copy();

  std::unique_ptr<pg_conn, Finish> connection_;
  millrace::Mutex mutex_;
  std::unique_ptr<pg_cancel, Free> cancel_ MILLRACE_GUARDED_BY(mutex_);
};
