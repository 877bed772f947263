// SPDX-License-Identifier: Apache-2.0
#include <millrace/connectors/kafka.h>
#include <millrace/pipeline/registry.h>

int main() {
  millrace::Registry registry;
  registry.add(millrace::KafkaSource::kind());
  registry.add(millrace::KafkaSink::kind());
  return 0;
}
