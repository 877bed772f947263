# SPDX-License-Identifier: Apache-2.0
# What the S3 sink is made of.
list(APPEND S3_SOURCES
  columnar_options.cc
  columnar_output.cc
  commit_book.cc
  commit_record.cc
  content_match.cc
  converted_file.cc
  explain.cc
  explain_text.cc
  key_pattern.cc
  key_template.cc
  parts_upload.cc
  sink.cc
  sink_format.cc
  sink_options.cc
  sink_probe.cc
  sink_schema.cc
  stored_as.cc
  upload.cc
  upload_ledger.cc
  writer.cc)
list(APPEND S3_DEPENDS base ack config encode metrics sink store store_open)

millrace_test(s3_sink_test
  SOURCES columnar_options_test.cc columnar_output_test.cc commit_book_test.cc compat_test.cc explain_test.cc key_template_test.cc sink_options_test.cc sink_test.cc
    stored_as_test.cc parts_upload_test.cc upload_ledger_test.cc writer_test.cc
  DEPENDS s3 store_memory store_file store_faulty LINK rapidcheck PkgConfig::xxhash LABELS unit property)
millrace_test(s3_way_test SOURCES way_test.cc DEPENDS s3)
