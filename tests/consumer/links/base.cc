// SPDX-License-Identifier: Apache-2.0
#include <millrace/version.h>

int main() { return millrace::version() == MILLRACE_VERSION ? 0 : 1; }
