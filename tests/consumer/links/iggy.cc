// SPDX-License-Identifier: Apache-2.0
#include <millrace/connectors/iggy.h>
#include <millrace/pipeline/registry.h>

int main() {
  millrace::Registry registry;
  registry.add(millrace::IggySource::kind());
  registry.add(millrace::IggySink::kind());
  return 0;
}
