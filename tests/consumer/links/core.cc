// SPDX-License-Identifier: Apache-2.0
#include <millrace/connectors/console.h>
#include <millrace/pipeline/registry.h>

int main() {
  millrace::Registry registry;
  registry.add(millrace::StdoutSink::kind());
  return 0;
}
