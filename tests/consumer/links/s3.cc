// SPDX-License-Identifier: Apache-2.0
#include <millrace/connectors/s3.h>
#include <millrace/pipeline/registry.h>

int main() {
  millrace::Registry registry;
  registry.add(millrace::S3Source::kind());
  registry.add(millrace::S3Sink::kind());
  return 0;
}
