// SPDX-License-Identifier: Apache-2.0
// What the keys of a connection mean, for every connector that has them: checked together, and as the client wants
// them. Pure.
#pragma once

#include <string>

#include "millrace/base/log.h"
#include "millrace/base/time.h"
#include "millrace/config/config.h"
#include "millrace/connectors/iggy.h"
#include "millrace/iggy_client/client.h"

namespace millrace::iggy_source {

/// Says what is wrong with a key of the section `at`, at its place.
void problem_of(const ConfigSection& at, const char* key, const std::string& text, ConfigProblems& problems);

/// Adds what is wrong with address, credentials and version.
void check_connection(const IggyConnectionOptions& options, const ConfigSection& at, ConfigProblems& problems);

/// Of options that are checked. Everybody is somebody new.
[[nodiscard]] iggy::ClientOptions connection_of(const IggyConnectionOptions& options, Clock* clock, Random* random,
                                                const Logger& log);

/// Whether both name one server, as far as their text tells: hosts without regard to case, and this machine's names
/// for itself being one.
[[nodiscard]] bool same_address(const std::string& one, const std::string& other);

}  // namespace millrace::iggy_source
