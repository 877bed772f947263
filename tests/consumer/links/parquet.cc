// SPDX-License-Identifier: Apache-2.0
#include <millrace/formats/parquet.h>

int main() { return millrace::parquet_format().make ? 0 : 1; }
